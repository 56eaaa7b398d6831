import ts from 'typescript';

/** A value that only a running process has. */
class Unknown {
  readonly of: ts.Expression | ts.Node;

  constructor(of: ts.Node) {
    this.of = of;
  }
}

/** An expression that this evaluator does not understand. */
export class Unreadable extends Error {}

type Value = unknown;
interface Closure {
  node: ts.FunctionLikeDeclaration;
  frame: Frame;
}
interface Frame {
  node: ts.Node | null;
  values: Map<unknown, Value>;
  parent: Frame | null;
}

const isClosure = (value: Value): value is Closure => typeof value === 'object' && value !== null && 'frame' in value;
const globals: Readonly<Record<string, unknown>> = { Object, String, Number, Math, JSON, Array };
/** A text with more cases than this is read in as many of them, which are the same in each run. */
const casesMax = 300;

/**
 * The texts that an expression of src/db may have: where it depends on a value that only a running process has, each of its cases. The
 * texts of statements are put together from constants, from functions without statements of their own, and from words of closed unions.
 */
export function textsOf(checker: ts.TypeChecker, expression: ts.Expression): string[] {
  const textBy = (choose: (of: number) => number): string => {
    const text = new Evaluation(checker, choose).run(expression);
    if (typeof text !== 'string') throw new Unreadable(expression.getText());
    return text;
  };
  return eachCase(textBy) ?? someCases(textBy);
}

/** The texts of all cases, or null if there are too many. */
function eachCase(textBy: (choose: (of: number) => number) => string): string[] | null {
  const texts = new Set<string>();
  let choices: { taken: number; of: number }[] = [];
  for (let n = 0; n < casesMax; n++) {
    let depth = 0;
    texts.add(
      textBy((of) => {
        choices[depth] ??= { taken: 0, of };
        return choices[depth++]?.taken ?? 0;
      }),
    );
    choices = choices.slice(0, depth);
    while (choices.length > 0 && (choices.at(-1)?.taken ?? 0) + 1 >= (choices.at(-1)?.of ?? 0)) choices.pop();
    const last = choices.at(-1);
    if (!last) return [...texts];
    last.taken += 1;
  }
  return null;
}

function someCases(textBy: (choose: (of: number) => number) => string): string[] {
  let state = 1;
  const choose = (of: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return Math.floor((state / 2_147_483_647) * of);
  };
  return [...new Set(Array.from({ length: casesMax }, () => textBy(choose)))];
}

/** One walk through the cases. */
class Evaluation {
  readonly #checker: ts.TypeChecker;
  readonly #choose: (of: number) => number;
  readonly #root: Frame = { node: null, values: new Map(), parent: null };

  constructor(checker: ts.TypeChecker, choose: (of: number) => number) {
    this.#checker = checker;
    this.#choose = choose;
  }

  run(expression: ts.Expression): Value {
    return this.#value(expression, this.#root);
  }

  #value(node: ts.Expression, frame: Frame): Value {
    if (ts.isStringLiteralLike(node)) return node.text;
    if (ts.isNumericLiteral(node)) return Number(node.text);
    if (ts.isRegularExpressionLiteral(node)) {
      const [, pattern = '', flags = ''] = /^\/([^]*)\/(\w*)$/.exec(node.text) ?? [];
      return new RegExp(pattern, flags);
    }
    if (node.kind === ts.SyntaxKind.TrueKeyword) return true;
    if (node.kind === ts.SyntaxKind.FalseKeyword) return false;
    if (node.kind === ts.SyntaxKind.NullKeyword) return null;
    if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isSatisfiesExpression(node))
      return this.#value(node.expression, frame);
    if (ts.isNonNullExpression(node)) return this.#value(node.expression, frame);
    if (ts.isTemplateExpression(node))
      return node.templateSpans.reduce((text, span) => {
        const value = this.#value(span.expression, frame);
        if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
          throw new Unreadable(span.expression.getText());
        return `${text}${value}${span.literal.text}`;
      }, node.head.text);
    if (ts.isArrowFunction(node) || ts.isFunctionExpression(node)) return { node, frame };
    if (ts.isIdentifier(node)) return this.#named(node, frame);
    if (ts.isConditionalExpression(node))
      return this.#value(this.#holds(node.condition, frame) ? node.whenTrue : node.whenFalse, frame);
    if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
      return !this.#holds(node.operand, frame);
    if (ts.isTypeOfExpression(node)) {
      const value = this.#value(node.expression, frame);
      return value instanceof Unknown ? new Unknown(node) : typeof value;
    }
    if (ts.isBinaryExpression(node)) return this.#binary(node, frame);
    if (ts.isArrayLiteralExpression(node))
      return node.elements.flatMap((element): Value[] => {
        if (!ts.isSpreadElement(element)) return [this.#value(element, frame)];
        const spread = this.#value(element.expression, frame);
        return Array.isArray(spread) ? spread : [new Unknown(element)];
      });
    if (ts.isObjectLiteralExpression(node)) return this.#object(node, frame);
    if (ts.isPropertyAccessExpression(node)) return this.#member(node, node.name.text, frame);
    if (ts.isElementAccessExpression(node)) {
      const key = this.#value(node.argumentExpression, frame);
      if (!(key instanceof Unknown)) return this.#member(node, String(key), frame);
      const table = this.#value(node.expression, frame);
      if (typeof table !== 'object' || table === null || table instanceof Unknown) return new Unknown(node);
      const values = Object.values(table) as Value[];
      return values[this.#choose(values.length)];
    }
    if (ts.isCallExpression(node)) return this.#call(node, frame);
    return new Unknown(node);
  }

  #named(node: ts.Identifier, frame: Frame): Value {
    if (node.text === 'undefined') return undefined;
    let symbol = ts.isShorthandPropertyAssignment(node.parent)
      ? this.#checker.getShorthandAssignmentValueSymbol(node.parent)
      : this.#checker.getSymbolAtLocation(node);
    if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = this.#checker.getAliasedSymbol(symbol);
    const declaration = symbol?.valueDeclaration;
    if (!declaration || declaration.getSourceFile().isDeclarationFile) return globals[node.text] ?? new Unknown(node);
    return this.#declared(declaration, node, frame);
  }

  #declared(declaration: ts.Declaration, node: ts.Node, frame: Frame): Value {
    for (let at: Frame | null = frame; at; at = at.parent)
      if (at.values.has(declaration)) return at.values.get(declaration);
    const home = homeOf(declaration, frame);
    const value = this.#valueOfDeclaration(declaration, node, home);
    home.values.set(declaration, value);
    return value;
  }

  #valueOfDeclaration(declaration: ts.Declaration, node: ts.Node, frame: Frame): Value {
    if (ts.isFunctionDeclaration(declaration)) return { node: declaration, frame };
    if (ts.isParameter(declaration)) return this.#parameter(declaration, node, frame);
    if (ts.isVariableDeclaration(declaration) && declaration.initializer)
      return this.#value(declaration.initializer, frame);
    if (ts.isBindingElement(declaration)) {
      const { parent: pattern } = declaration;
      const { parent: owner } = pattern;
      if (ts.isVariableDeclaration(owner)) return this.#part(declaration, this.#whole(owner, frame), node);
      // A pattern in a pattern of a loop, such as `[name, { text }]`.
      if (ts.isBindingElement(owner) && ts.isVariableDeclaration(owner.parent.parent))
        return this.#part(declaration, this.#part(owner, this.#whole(owner.parent.parent, frame), node), node);
    }
    return this.#word(node);
  }

  /** What a pattern takes apart: its initializer, or one of the values of a loop. */
  #whole(owner: ts.VariableDeclaration, frame: Frame): Value {
    if (!frame.values.has(owner)) {
      const loop = owner.parent.parent;
      const values = ts.isForOfStatement(loop) ? this.#value(loop.expression, frame) : undefined;
      if (Array.isArray(values)) frame.values.set(owner, values[this.#choose(values.length)]);
      else frame.values.set(owner, owner.initializer ? this.#value(owner.initializer, frame) : new Unknown(owner));
    }
    return frame.values.get(owner);
  }

  /** A parameter of a function that was not called here: its default, or what one of its calls in the file passes. */
  #parameter(parameter: ts.ParameterDeclaration, node: ts.Node, frame: Frame): Value {
    if (parameter.initializer) return this.#value(parameter.initializer, frame);
    const { parent: owner } = parameter;
    const named = ts.isVariableDeclaration(owner.parent) ? owner.parent.name : owner.name;
    const symbol = named && this.#checker.getSymbolAtLocation(named);
    if (!symbol) return this.#word(node);
    const passed: ts.Expression[] = [];
    const visit = (at: ts.Node): void => {
      if (ts.isCallExpression(at) && this.#checker.getSymbolAtLocation(at.expression) === symbol) {
        const argument = at.arguments[owner.parameters.indexOf(parameter)];
        if (argument) passed.push(argument);
      }
      ts.forEachChild(at, visit);
    };
    visit(parameter.getSourceFile());
    const argument = passed.length > 0 ? passed[this.#choose(passed.length)] : undefined;
    return argument ? this.#value(argument, this.#root) : this.#word(node);
  }

  #part(element: ts.BindingElement, whole: Value, node: ts.Node): Value {
    const { parent: pattern } = element;
    if (typeof whole !== 'object' || whole === null || whole instanceof Unknown) return this.#word(node);
    if (ts.isArrayBindingPattern(pattern)) {
      const index = pattern.elements.indexOf(element);
      if (!Array.isArray(whole)) return this.#word(node);
      return element.dotDotDotToken ? (whole as Value[]).slice(index) : (whole as Value[])[index];
    }
    const name = element.propertyName ?? element.name;
    return ts.isIdentifier(name) && name.text in whole ? (whole as Record<string, Value>)[name.text] : this.#word(node);
  }

  /** One of the words of a closed union, or an unknown value. */
  #word(node: ts.Node): Value {
    const type = this.#checker.getTypeAtLocation(node);
    const members = type.isUnion() ? type.types : [type];
    const words = members.filter((member) => member.isStringLiteral()).map(({ value }) => value);
    if (words.length === 0 || words.length < members.length) return new Unknown(node);
    return words[this.#choose(words.length)];
  }

  #holds(condition: ts.Expression, frame: Frame): boolean {
    const value = this.#value(condition, frame);
    if (!(value instanceof Unknown)) return Boolean(value);
    const [key, home] = this.#keyOf(condition, frame);
    const before = home.values.get(key);
    if (typeof before === 'boolean') return before;
    const holds = this.#choose(2) === 0;
    home.values.set(key, holds);
    return holds;
  }

  /** What a condition depends on: `groups.includes(group)` on the group, wherever it stands. */
  #keyOf(condition: ts.Expression, frame: Frame): [string, Frame] {
    if (!ts.isCallExpression(condition) || !ts.isPropertyAccessExpression(condition.expression))
      return [condition.getText(), frame];
    const passed = condition.arguments.map((argument) => this.#value(argument, frame));
    return passed.every((value) => typeof value === 'string')
      ? [`${condition.expression.getText()}(${passed.join(', ')})`, this.#root]
      : [condition.getText(), frame];
  }

  #binary(node: ts.BinaryExpression, frame: Frame): Value {
    const { operatorToken, left, right } = node;
    if (operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken)
      return this.#holds(left, frame) ? this.#value(right, frame) : false;
    if (operatorToken.kind === ts.SyntaxKind.BarBarToken)
      return this.#holds(left, frame) ? this.#decided(left, true, frame) : this.#value(right, frame);
    const [a, b] = [this.#value(left, frame), this.#value(right, frame)];
    if (operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken) return a ?? b;
    if (a instanceof Unknown || b instanceof Unknown) return new Unknown(node);
    switch (operatorToken.kind) {
      case ts.SyntaxKind.EqualsEqualsEqualsToken:
        return a === b;
      case ts.SyntaxKind.ExclamationEqualsEqualsToken:
        return a !== b;
      case ts.SyntaxKind.PlusToken:
        return typeof a === 'number' && typeof b === 'number' ? a + b : `${String(a)}${String(b)}`;
      case ts.SyntaxKind.MinusToken:
        return Number(a) - Number(b);
      case ts.SyntaxKind.GreaterThanToken:
        return Number(a) > Number(b);
      case ts.SyntaxKind.InKeyword:
        return typeof b === 'object' && b !== null && String(a) in b;
      default:
        return new Unknown(node);
    }
  }

  /** The value of a condition whose case is chosen. */
  #decided(condition: ts.Expression, holds: boolean, frame: Frame): Value {
    const value = this.#value(condition, frame);
    return value instanceof Unknown ? holds : value;
  }

  #object(node: ts.ObjectLiteralExpression, frame: Frame): Value {
    const object: Record<string, Value> = {};
    for (const property of node.properties) {
      if (ts.isPropertyAssignment(property)) object[nameOf(property.name)] = this.#value(property.initializer, frame);
      else if (ts.isShorthandPropertyAssignment(property))
        object[property.name.text] = this.#named(property.name, frame);
      else if (ts.isSpreadAssignment(property)) {
        const spread = this.#value(property.expression, frame);
        if (!(spread instanceof Unknown)) Object.assign(object, spread);
      }
    }
    return object;
  }

  #member(node: ts.PropertyAccessExpression | ts.ElementAccessExpression, name: string, frame: Frame): Value {
    const object = this.#value(node.expression, frame);
    if (object === undefined || object === null) return undefined;
    if (!(object instanceof Unknown)) return (object as Record<string, Value>)[name];
    const key = node.getText();
    if (!frame.values.has(key)) frame.values.set(key, this.#word(node));
    return frame.values.get(key);
  }

  #call(node: ts.CallExpression, frame: Frame): Value {
    const values = (): Value[] =>
      node.arguments.map((argument) =>
        ts.isSpreadElement(argument) ? new Unknown(argument) : this.#value(argument, frame),
      );
    if (ts.isPropertyAccessExpression(node.expression)) {
      const object = this.#value(node.expression.expression, frame);
      if (object instanceof Unknown || object === undefined || object === null) return new Unknown(node);
      const method = (object as Record<string, unknown>)[node.expression.name.text];
      if (isClosure(method)) return this.#apply(method, values());
      if (typeof method !== 'function') return new Unknown(node);
      if (Array.isArray(object) && node.expression.name.text === 'join' && object.some((one) => one instanceof Unknown))
        return new Unknown(node);
      const passed = values().map((value) =>
        isClosure(value) ? (...args: Value[]): Value => this.#apply(value, args) : value,
      );
      if (object === Object && passed.some((value) => value instanceof Unknown)) return new Unknown(node);
      return (method as (...passed: Value[]) => Value).apply(object, passed);
    }
    const callee = this.#value(node.expression, frame);
    return isClosure(callee) ? this.#apply(callee, values()) : new Unknown(node);
  }

  #apply({ node, frame }: Closure, passed: Value[]): Value {
    const inner: Frame = { node, values: new Map(), parent: frame };
    node.parameters.forEach(({ name, initializer }, index) => {
      const value = passed[index] === undefined && initializer ? this.#value(initializer, inner) : passed[index];
      this.#bind(name, value, inner);
    });
    const { body } = node;
    if (!body) return new Unknown(node);
    return ts.isBlock(body) ? this.#block(body, inner) : this.#value(body, inner);
  }

  #bind(name: ts.BindingName, value: Value, frame: Frame): void {
    if (ts.isIdentifier(name)) frame.values.set(name.parent, value);
    else
      for (const element of name.elements)
        if (ts.isBindingElement(element)) {
          const part = this.#part(element, value, element.name);
          if (ts.isIdentifier(element.name)) frame.values.set(element, part);
          else this.#bind(element.name, part, frame);
        }
  }

  #block(body: ts.Block, frame: Frame): Value {
    for (const statement of body.statements) {
      if (ts.isReturnStatement(statement))
        return statement.expression ? this.#value(statement.expression, frame) : undefined;
      if (ts.isIfStatement(statement)) {
        if (!this.#holds(statement.expression, frame)) continue;
        const then = statement.thenStatement;
        if (ts.isReturnStatement(then) && then.expression) return this.#value(then.expression, frame);
        throw new Unreadable(statement.getText());
      }
      if (!ts.isVariableStatement(statement)) throw new Unreadable(statement.getText());
    }
    return undefined;
  }
}

/** The frame of the function that has the declaration. */
function homeOf(declaration: ts.Node, frame: Frame): Frame {
  for (let at = frame; ; at = at.parent) {
    if (!at.parent) return at;
    for (let node: ts.Node = declaration; ; node = node.parent) {
      if (node === at.node) return at;
      if (!node.parent) break;
    }
  }
}

const nameOf = (name: ts.PropertyName): string =>
  ts.isIdentifier(name) || ts.isStringLiteralLike(name) ? name.text : name.getText();
