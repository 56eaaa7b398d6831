/** The page that shows the OpenAPI document with Scalar, which `/docs/assets/scalar.js` is. */
export const referencePage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tollgate API</title>
<link rel="icon" href="data:,">
</head>
<body>
<div id="reference"></div>
<noscript>This page needs JavaScript. The same reference is in <a href="/llms.txt">llms.txt</a> and <a href="/api/v1/openapi.json">openapi.json</a>.</noscript>
<script src="/docs/assets/scalar.js"></script>
<script src="/docs/assets/reference.js"></script>
</body>
</html>
`;

/** Starts Scalar without everything that would call another host: fonts, proxy, telemetry, its agent and its hosted client. */
export const referenceJs = `Scalar.createApiReference('#reference', {
  url: '/api/v1/openapi.json',
  proxyUrl: '',
  telemetry: false,
  withDefaultFonts: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  // The catalog's models are something else.
  modelsSectionLabel: 'Schemas',
  showDeveloperTools: 'never',
  persistAuth: false,
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
});
`;
