import type { z } from 'zod';
import type { Config } from '../../config/load-config.ts';
import type { CatalogEntry } from '../../domain/catalog/catalog.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { Route } from '../route.ts';
import type { NamedSchemas } from './json-schema.ts';

/** What a document needs to know of a route. */
export type DescribedRoute = Pick<Route, 'method' | 'path' | 'auth' | 'scopes' | 'dialect' | 'dialectBy' | 'body'>;

/** What the document says about one route beyond its row of the route table. */
export interface Operation<TagName extends string = Tag> {
  /** The name for generated clients. Absent: made from the route. */
  id?: string;
  /** A few words, the title of the operation. */
  summary: string;
  /** Markdown. */
  description?: string;
  tag: TagName;
  /** Every parameter in the path and in the query, and headers that only this route reads. */
  parameters?: readonly Parameter[];
  body?: (catalog: Catalog, named: NamedSchemas, limits: TaskLimits) => Body;
  /** False if the body may be absent. */
  bodyRequired?: boolean;
  /** By status, without the refusals. */
  answers: Readonly<Record<number, Answer>>;
  /** The refusals of this route beyond those of every route of its kind. */
  errors?: readonly ErrorCode[];
  /** A browser that asks for a page gets its refusals as one. */
  refusesWithPages?: true;
}

/** The offered models, in the catalog's order. */
export type Catalog = readonly CatalogEntry[];

/** The operator's settings that the document names. */
export type TaskLimits = Pick<Config['tasks'], 'imageDeadlineSeconds' | 'videoDeadlineSeconds'>;

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

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  description: string;
  schema: z.ZodType;
  required?: boolean;
  /** `deepObject`: one query parameter for each member, `name[member]=value`. */
  style?: 'deepObject';
  /** A value that the examples of the body go with. */
  example?: (catalog: Catalog) => string | undefined;
}

/** By media type. */
export type Body = Readonly<Record<string, { schema: JsonObject; examples?: Examples }>>;
/** Each is sent to a gateway by a test. */
export type Examples = Readonly<Record<string, { summary: string; value: JsonObject }>>;

export interface Answer {
  description: string;
  /** By media type; absent for an answer without a body. */
  content?: Readonly<Record<string, z.ZodType>>;
  /** Headers that this answer always has, by name, with what they say. */
  headers?: Readonly<Record<string, string>>;
  /** Headers that it has in some cases. */
  sometimes?: Readonly<Record<string, string>>;
}

/** A JSON body of an answer. */
export const json = (schema: z.ZodType): Answer['content'] => ({ 'application/json': schema });
