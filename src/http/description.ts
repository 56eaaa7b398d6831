import type { z } from 'zod';
import type { Config } from '../config/load-config.ts';
import type { CatalogEntry } from '../domain/catalog/catalog.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { JsonObject } from '../domain/json.ts';

/** What a row of the route table says to clients. The OpenAPI document, `llms.txt` and docs/API.md follow from it. */
export interface Description<TagName extends string = string> {
  /** The name for generated clients. Absent: made from the route. */
  id?: string;
  /** A few words, the title of the operation. */
  summary: string;
  /** Markdown. */
  description?: string;
  tag: TagName;
  /** Every parameter in the path by name, each with its description. */
  params?: Readonly<Record<string, z.ZodType>>;
  /** Values of parameters in the path that the examples of the body go with. */
  paramExamples?: (catalog: Catalog) => Readonly<Record<string, string | undefined>>;
  /** Headers that only this route reads. */
  headers?: Readonly<Record<string, z.ZodType>>;
  /** The body by media type. One that depends on the catalog or on settings is written when the document is made. */
  accepts?: Readonly<Record<string, z.ZodType | ((surroundings: BodySurroundings) => JsonObject)>>;
  /** Examples of the JSON body. */
  examples?: (catalog: Catalog) => Examples;
  /** False if the body may be absent. */
  bodyRequired?: boolean;
  /** By status, without the refusals. */
  answers: Readonly<Record<number, DescribedAnswer>>;
  /** The refusals of this route beyond those of every route of its kind. */
  errors?: readonly ErrorCode[];
  /** A browser that asks for a page gets its refusals as one. */
  refusesWithPages?: true;
}

export interface BodySurroundings {
  catalog: Catalog;
  limits: TaskDeadlines;
  /** Where schemas with a name go. */
  named: NamedSchemas;
}

/** Schemas by name, as `components.schemas` has them. */
export type NamedSchemas = Map<string, JsonObject>;

/** The offered models, in the catalog's order. */
export type Catalog = readonly CatalogEntry[];

/** The operator's settings that the document names. */
export type TaskDeadlines = Pick<Config['tasks'], 'imageDeadlineSeconds' | 'videoDeadlineSeconds'>;

export const tags = {
  Models: 'The models that a key may use, with their prices and parameters.',
  Chat: 'Chat completions, whole or streamed.',
  Images: 'Pictures, created as tasks.',
  Videos: 'Videos, created as tasks.',
  Tasks: 'Read, cancel and follow up tasks.',
  Files: 'Results and uploads, by signed URL.',
  Agents: 'Tools for agents, by the Model Context Protocol.',
  Account: 'What the key may do and has left, and what the project spent.',
  Gemini: "Google's generateContent, for chat and image models.",
  Legacy: 'The routes of the former platform. New clients do not need them.',
  Documentation: 'This document and the pages about errors. They need no key.',
} as const;
export type Tag = keyof typeof tags;

/** Each is sent to a gateway by a test. */
export type Examples = Readonly<Record<string, { summary: string; value: JsonObject }>>;

export interface DescribedAnswer {
  description: string;
  /** By media type; absent for an answer without a body. */
  content?: Readonly<Record<string, z.ZodType>>;
  /** Headers that this answer always has, by name, with what they say. */
  headers?: Readonly<Record<string, string>>;
  /** Headers that it has in some cases. */
  sometimes?: Readonly<Record<string, string>>;
}

/** A JSON body of an answer. */
export const json = <Schema extends z.ZodType>(schema: Schema) => ({ 'application/json': schema });
