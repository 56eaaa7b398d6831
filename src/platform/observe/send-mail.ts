const timeoutMs = 10_000;

export interface Mail {
  /** Used if the user of the mail server is no address. */
  from: string;
  to: readonly string[];
  subject: string;
  text: string;
}

/** Sends a mail by the server at an `smtp:` or `smtps:` URL. Throws if the server does not take it. */
export async function sendMail(url: string, { from, to, subject, text }: Mail): Promise<void> {
  // Loaded when there is something to send, because most processes never send a mail.
  const { createTransport } = await import('nodemailer');
  const limits = { connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs };
  const transport = createTransport({ url, ...limits });
  try {
    await transport.sendMail({
      from: { name: 'Tollgate', address: senderOf(url, from) },
      to: [...to],
      subject,
      text,
    });
  } finally {
    transport.close();
  }
}

/** Mail servers accept the address that logged in. One without a login is in the private network and accepts any. */
function senderOf(url: string, otherwise: string): string {
  const user = decodeURIComponent(new URL(url).username);
  return user.includes('@') ? user : otherwise;
}
