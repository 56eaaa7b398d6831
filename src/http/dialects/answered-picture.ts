/** A picture as inline data, or the URL of one that is too large for that or is not wanted inline. */
export type AnsweredPicture = { mimeType: string } & ({ bytes: Buffer } | { url: string });
