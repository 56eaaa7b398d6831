/** A document that came with a chat, as the list of calls shows it. */
export interface HeardDocument {
  type: string;
  name?: string;
  /** Of a document by URL, which the sandbox does not fetch. */
  url?: string;
  bytes?: number;
  pages?: number;
  /** The beginning of a document of text. */
  text?: string;
}

/** The tokens of the pages of PDFs. Texts are counted with the messages. */
export const tokensOfHeard = (documents: readonly HeardDocument[], perPage: number): number =>
  documents.reduce((sum, { pages = 1, text }) => sum + (text === undefined ? pages * perPage : 0), 0);
