import type { z } from 'zod';
import type { AppContext, AppMiddleware } from './context.ts';
import type { Description, Tag } from './description.ts';
import { queryReader, type QueryOf, type QueryShape } from './request/query.ts';
import type { RouteFacts } from './route-facts.ts';

/** One row of the route table. */
export type Route = RouteFacts & RouteMiddlewares & Partial<Description> & { handler: AppMiddleware };

interface RouteMiddlewares {
  /** What refuses a request of this route before its key is looked up, or words its refusals. */
  beforeAuth?: readonly AppMiddleware[];
  /** What refuses a request of this route before its body is read. */
  beforeBody?: readonly AppMiddleware[];
}

/** What the schemas of a row's JSON answers accept. */
type AnswerOf<Described> = {
  [Status in keyof Described]: Described[Status] extends { content: { 'application/json': infer Schema } }
    ? z.input<Schema>
    : never;
}[keyof Described];

/** A row whose handler takes the query as its schemas read it, and returns what its answers describe. */
type Endpoint<Shape extends QueryShape, Described extends Description['answers'], TagName extends string> = RouteFacts &
  RouteMiddlewares &
  Description<TagName> & {
    query?: Shape;
    answers: Described;
    handler: Handler<Shape, AnswerOf<Described>>;
  };

/**
 * Returns the JSON of an answer, or nothing if it has sent bytes or a stream. The condition is always true; it makes the compiler keep
 * literal types.
 */
type Handler<Shape extends QueryShape, Answer> = [Answer] extends [infer Value]
  ? (ctx: AppContext, query: QueryOf<Shape>) => Value | void | Promise<Value | void>
  : never;

/** The row of a route that clients call. Its handler is called with the query that its row accepts. */
export const endpoint = <
  const Shape extends QueryShape = Record<never, never>,
  Described extends Description['answers'] = Description['answers'],
  TagName extends string = Tag,
>({
  handler,
  ...row
}: Endpoint<Shape, Described, TagName>): Route => {
  const read = queryReader<Shape>(row.query);
  return {
    ...row,
    async handler(ctx) {
      const answer = await handler(ctx, read(ctx));
      if (answer !== undefined) ctx.body = answer;
    },
  };
};

/** Whether clients call a route: all but those for schedulers and operators. */
export const isClientRoute = ({ auth }: Pick<Route, 'auth'>): boolean => ['api_key', 'signed', 'none'].includes(auth);
