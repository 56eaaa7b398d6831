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

/** A row whose handler takes the query as its schemas read it. */
type Endpoint<Shape extends QueryShape, TagName extends string> = RouteFacts &
  RouteMiddlewares &
  Description<TagName> & {
    query?: Shape;
    handler: (ctx: AppContext, query: QueryOf<Shape>) => Promise<void> | void;
  };

/** The row of a route that clients call. Its handler is called with the query that its row accepts. */
export const endpoint = <const Shape extends QueryShape = Record<never, never>, TagName extends string = Tag>({
  handler,
  ...row
}: Endpoint<Shape, TagName>): Route => {
  const read = queryReader<Shape>(row.query);
  return {
    ...row,
    async handler(ctx) {
      await handler(ctx, read(ctx));
    },
  };
};

/** Whether clients call a route: all but those for schedulers and operators. */
export const isClientRoute = ({ auth }: Pick<Route, 'auth'>): boolean => ['api_key', 'signed', 'none'].includes(auth);
