/**
 * The rule of ESLint `max-lines-per-function` for files of tests: a `describe` is a list of tests, not a function, so only what it calls
 * and contains is measured. The size of the list is bounded by that of the file.
 */
export default {
  meta: {
    type: 'suggestion',
    schema: [{ type: 'object', properties: { max: { type: 'integer' } }, additionalProperties: false }],
    messages: { long: 'This function has {{lines}} lines. At most {{max}} are allowed.' },
  },
  create(context) {
    const [{ max }] = context.options;
    const measure = (node) => {
      const lines = node.loc.end.line - node.loc.start.line + 1;
      if (lines > max && !isOfDescribe(node) && !isSuite(node))
        context.report({ node, messageId: 'long', data: { lines, max } });
    };
    return { FunctionDeclaration: measure, FunctionExpression: measure, ArrowFunctionExpression: measure };
  },
};

/** A suite that several files call with different arguments: a function whose statements declare tests. */
const isSuite = ({ body }) =>
  body.type === 'BlockStatement' &&
  body.body.some(({ type, expression }) => type === 'ExpressionStatement' && callees(expression).includes('describe'));

/** `describe(…)`, `describe.each(…)(…)` and `(condition ? describe : describe.skip)(…)`. */
const isOfDescribe = ({ parent }) => parent.type === 'CallExpression' && callees(parent).includes('describe');

/** The names at the root of what is called. */
function callees(node) {
  if (node.type === 'Identifier') return [node.name];
  const inner = node.callee ?? node.object ?? node.tag ?? node.consequent;
  return inner ? callees(inner) : [];
}
