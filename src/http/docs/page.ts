/** A page of the documentation: its body is HTML, its title is text. Without scripts, and with its own style sheet only. */
export const htmlPage = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/assets/pages.css">
</head>
<body>
<nav><a href="/docs">Reference</a> <a href="/docs/errors">Errors</a> <a href="/llms.txt">llms.txt</a></nav>
<main>
${body}
</main>
</body>
</html>
`;

/** Such a page loads nothing from another host, and may not be shown in a frame. */
export const pagePolicy =
  "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Text as HTML. */
export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

/** Our own Markdown of one paragraph as HTML: `code` and [links](/path). */
export const inline = (markdown: string): string =>
  escaped(markdown)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\[([^\]]+)\]\((\/[^)]*)\)/g, '<a href="$2">$1</a>');

export const pagesCss = `:root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif; background: light-dark(#fff, #121212); color: light-dark(#111, #eee); }
a { color: light-dark(#1c4fb8, #8ab4f8); }
body { margin: 0 auto; max-width: 48rem; padding: 0 1rem 3rem; }
nav { display: flex; gap: 1.5rem; padding: 1rem 0; border-bottom: 1px solid #8884; }
h1 { line-height: 1.25; margin: 2rem 0 1rem; overflow-wrap: anywhere; }
h1 code { font-size: 0.9em; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { background: #8881; border-radius: 0.5rem; padding: 1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid #8883; padding: 0.4rem 0.75rem 0.4rem 0; text-align: left; vertical-align: top; }
dt { font-weight: 600; margin-top: 1rem; }
dd { margin: 0; }
`;
