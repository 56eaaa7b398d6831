import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { textsOf, Unreadable } from './evaluate.ts';

/** What TypeScript says of a member: `string`, `number`, `boolean`, `Date`, `Buffer`, `null`, `object`, `string[]`, `any`. */
export type Kinds = readonly string[];

export interface DeclaredMember {
  kinds: Kinds;
  optional: boolean;
  /** As TypeScript writes its type, without null. */
  type: string;
  /** The members of the object that it is or is a list of. Empty for anything else, and for an object of any members. */
  members: DeclaredMembers;
}
export type DeclaredMembers = ReadonlyMap<string, DeclaredMember>;

export interface DeclaredStatement {
  /** Its file and line, or the SQL function. */
  at: string;
  texts: string[];
  /** The SQL function that is called, in place of texts. */
  sqlFunction: string | null;
  /** The declared members of a row; null if its rows are not read. */
  row: DeclaredMembers | null;
  /** The declared value of an SQL function that returns no table. */
  value: Kinds | null;
}

const ourRoot = fileURLToPath(new URL('../../../', import.meta.url));

/** What a release sends, for the tests of the next one: each text once, and the SQL functions that it calls. `root` ends with a slash. */
export function sentStatements(root = ourRoot): { texts: string[]; functions: string[] } {
  const { statements } = readStatements(root);
  const functions = statements.flatMap(({ sqlFunction }) => sqlFunction ?? []);
  return {
    texts: [...new Set(statements.flatMap(({ texts }) => texts))].sort(),
    functions: [...new Set(functions)].sort(),
  };
}

/** Every statement that src/db sends, with all its texts and the declared type of its rows, and the statements that cannot be read. */
export function readStatements(root = ourRoot): { statements: DeclaredStatement[]; unreadable: string[] } {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, (path) => ts.sys.readFile(path)) as { config: object };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const files = ts.sys.readDirectory(`${root}src/db`, ['.ts']);
  const program = ts.createProgram(files, { ...options, noEmit: true });
  const checker = program.getTypeChecker();
  const statements: DeclaredStatement[] = [];
  const unreadable: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const { line } = node.getSourceFile().getLineAndCharacterOfPosition(node.getStart());
      const at = `${node.getSourceFile().fileName.slice(root.length)}:${line + 1}`;
      try {
        const statement = statementOf(checker, node, at);
        if (statement) statements.push(statement);
      } catch (error) {
        if (!(error instanceof Unreadable)) throw error;
        unreadable.push(`${at}: ${error.message}`);
      }
    }
    ts.forEachChild(node, visit);
  };
  for (const file of files)
    if (!/\/(database|long-transaction)\.ts$/.test(file)) {
      const source = program.getSourceFile(file);
      if (source) visit(source);
    }
  return { statements, unreadable };
}

function statementOf(checker: ts.TypeChecker, call: ts.CallExpression, at: string): DeclaredStatement | null {
  const signature = checker.getResolvedSignature(call);
  const declaration = signature?.getDeclaration();
  if (
    !signature ||
    !declaration ||
    !/src\/db\/(database|long-transaction)\.ts$/.test(declaration.getSourceFile().fileName)
  )
    return null;
  const { parent } = declaration;
  const named = declaration.name ?? (ts.isVariableDeclaration(parent) ? parent.name : undefined);
  const name = named?.getText() ?? '';
  const [first, second] = call.arguments;
  const promised = checker.getTypeArguments(checker.getReturnTypeOfSignature(signature) as ts.TypeReference)[0];
  if (!first || !second || !promised) return null;
  if (name === 'query' || name === 'first' || name === 'returnsRow') {
    const row = name === 'returnsRow' ? null : rowOf(checker, promised);
    return { at, texts: textsOf(checker, second), sqlFunction: null, row, value: null };
  }
  const wanted = { call: first, value: first, callLong: second, longValue: second }[name];
  if (!wanted) return null;
  const [sqlFunction = null] = textsOf(checker, wanted);
  const isValue = name === 'value' || name === 'longValue';
  return {
    at,
    texts: [],
    sqlFunction,
    row: isValue ? null : rowOf(checker, promised),
    value: isValue ? kindsOf(checker, promised) : null,
  };
}

function rowOf(checker: ts.TypeChecker, promised: ts.Type): DeclaredStatement['row'] {
  const whole = checker.getNonNullableType(promised);
  const row = checker.isArrayType(whole) ? checker.getTypeArguments(whole as ts.TypeReference)[0] : whole;
  const members = row ? membersOf(checker, row, 0) : new Map<string, DeclaredMember>();
  return members.size === 0 ? null : members;
}

/** A type that has no name of its own gets the one that its member is declared with. */
function nameOf(checker: ts.TypeChecker, { valueDeclaration }: ts.Symbol, type: ts.Type): string {
  const name = checker.typeToString(type);
  const written =
    valueDeclaration && ts.isPropertySignature(valueDeclaration) ? valueDeclaration.type?.getText() : undefined;
  return name.startsWith('{') ? (written ?? name) : name;
}

/** Objects within objects within a column are the deepest that a statement makes. */
const depthMax = 4;

function membersOf(checker: ts.TypeChecker, object: ts.Type, depth: number): DeclaredMembers {
  return new Map(
    checker.getPropertiesOfType(object).map((member) => {
      const type = checker.getTypeOfSymbol(member);
      const whole = checker.getNonNullableType(type);
      const [element = whole] = checker.isArrayType(whole) ? checker.getTypeArguments(whole as ts.TypeReference) : [];
      const isPlain = depth < depthMax && kindsOf(checker, element).join() === 'object' && !element.isUnion();
      const declared = {
        kinds: kindsOf(checker, type),
        optional: (member.flags & ts.SymbolFlags.Optional) !== 0,
        type: nameOf(checker, member, whole),
        members: isPlain ? membersOf(checker, element, depth + 1) : new Map<string, DeclaredMember>(),
      };
      return [member.name, declared];
    }),
  );
}

function kindsOf(checker: ts.TypeChecker, type: ts.Type): string[] {
  if (type.isUnion()) return [...new Set(type.types.flatMap((member) => kindsOf(checker, member)))];
  // Such as `string & {}`, which keeps the words of a union for editors.
  if (type.isIntersection() && type.types.some((member) => member.flags & ts.TypeFlags.StringLike)) return ['string'];
  if (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.TypeParameter)) return ['any'];
  if (type.flags & ts.TypeFlags.StringLike) return ['string'];
  if (type.flags & ts.TypeFlags.NumberLike) return ['number'];
  if (type.flags & ts.TypeFlags.BooleanLike) return ['boolean'];
  if (type.flags & ts.TypeFlags.Null) return ['null'];
  if (type.flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Void)) return ['undefined'];
  if (checker.isArrayType(type)) {
    const [element] = checker.getTypeArguments(type as ts.TypeReference);
    const kinds = element ? kindsOf(checker, element) : ['any'];
    return [`${kinds.length === 1 ? kinds[0] : 'any'}[]`];
  }
  const name = type.getSymbol()?.name ?? '';
  return [name === 'Date' || name === 'Buffer' ? name : 'object'];
}
