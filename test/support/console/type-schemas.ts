// JSON Schemas of types: what a message may be is written once, as the type that server and page are compiled with. Objects are closed; what it cannot express is an error.
import { parseSync } from 'rolldown/utils'

export type Schema = Readonly<Record<string, unknown>> | boolean

/** A node of the syntax tree; only the fields that are read here. */
interface Node {
  readonly type: string
  readonly name?: unknown
  readonly [field: string]: unknown
}

type Bindings = ReadonlyMap<string, Schema>

export interface Sources {
  /** By path. */
  readonly files: ReadonlyMap<string, string>
  /** What `typeof NAME` is in the types. */
  readonly constants: Readonly<Record<string, readonly string[]>>
}

/** Of every exported and every own type of the files, under `$defs`; generic ones are part of those that use them. */
export function typeSchemas({ files, constants }: Sources): Readonly<Record<string, Schema>> {
  const declared = new Map([...files].flatMap(([path, code]) => declarationsIn(path, code)))
  const translate = new Translation(declared, constants)
  const plain = [...declared].filter(([, d]) => (d['typeParameters'] ?? undefined) === undefined)
  return Object.fromEntries(plain.map(([name, node]) => [name, translate.declaration(node, new Map())]))
}

function declarationsIn(path: string, code: string): readonly (readonly [string, Node])[] {
  const { program, errors } = parseSync(path, code)
  if (errors.length > 0) throw new Error(`cannot read ${path}: ${errors[0]?.message ?? ''}`)
  return (program.body as unknown as readonly Node[]).flatMap((statement) => {
    const node = (statement['declaration'] ?? statement) as Node
    const isType = node.type === 'TSInterfaceDeclaration' || node.type === 'TSTypeAliasDeclaration'
    return isType ? [[nameOf(node['id']), node] as const] : []
  })
}

const nameOf = (node: unknown): string => String((node as Node).name)
const nodes = (value: unknown): readonly Node[] => value as readonly Node[]
const node = (value: unknown): Node => value as Node

interface Fields {
  readonly properties: Readonly<Record<string, Schema>>
  readonly required: readonly string[]
}

const closed = ({ properties, required }: Fields): Schema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

class Translation {
  readonly #declared: ReadonlyMap<string, Node>
  readonly #constants: Sources['constants']

  constructor(declared: ReadonlyMap<string, Node>, constants: Sources['constants']) {
    this.#declared = declared
    this.#constants = constants
  }

  declaration(of: Node, bound: Bindings): Schema {
    return of.type === 'TSInterfaceDeclaration'
      ? closed(this.#fields(of, bound))
      : this.#schema(node(of['typeAnnotation']), bound)
  }

  #fields(of: Node, bound: Bindings): Fields {
    const inherited = nodes(of['extends'] ?? []).map((e) => this.#fields(this.#named(nameOf(e['expression'])), bound))
    const all = [...inherited, this.#members(nodes(node(of['body'])['body']), bound)]
    return {
      properties: Object.assign({}, ...all.map((f) => f.properties)) as Fields['properties'],
      required: all.flatMap((f) => f.required),
    }
  }

  #members(members: readonly Node[], bound: Bindings): Fields {
    const own = members.map((m) => ({
      name: nameOf(m['key']),
      isOptional: m['optional'] === true,
      schema: this.#schema(node(node(m['typeAnnotation'])['typeAnnotation']), bound),
    }))
    return {
      properties: Object.fromEntries(own.map(({ name, schema }) => [name, schema])),
      required: own.filter(({ isOptional }) => !isOptional).map(({ name }) => name),
    }
  }

  #named(name: string): Node {
    const found = this.#declared.get(name)
    if (found === undefined) throw new Error(`the type ${name} is in none of the files`)
    return found
  }

  #schema(of: Node, bound: Bindings): Schema {
    const inner = () => this.#schema(node(of['typeAnnotation']), bound)
    switch (of.type) {
      case 'TSStringKeyword':
        return { type: 'string' }
      case 'TSNumberKeyword':
        return { type: 'number' }
      case 'TSBooleanKeyword':
        return { type: 'boolean' }
      case 'TSObjectKeyword':
        return { type: 'object' }
      case 'TSNeverKeyword':
        return false
      case 'TSLiteralType':
        return { enum: [node(of['literal'])['value']] }
      case 'TSParenthesizedType':
        return inner()
      case 'TSTypeOperator':
        return of['operator'] === 'keyof' ? { enum: this.#keys(node(of['typeAnnotation'])) } : inner()
      case 'TSArrayType':
        return { type: 'array', items: this.#schema(node(of['elementType']), bound) }
      case 'TSTupleType': {
        const items = nodes(of['elementTypes']).map((e) => this.#schema(node(e['elementType'] ?? e), bound))
        return { type: 'array', prefixItems: items, minItems: items.length, items: false }
      }
      case 'TSTypeLiteral':
        return closed(this.#members(nodes(of['members']), bound))
      case 'TSUnionType':
        return this.#union(nodes(of['types']).map((t) => this.#schema(t, bound)))
      case 'TSIndexedAccessType':
        return this.#indexed(node(of['objectType']))
      case 'TSTypeReference':
        return this.#reference(of, bound)
      default:
        throw new Error(`no schema for ${of.type}`)
    }
  }

  #union(all: readonly Schema[]): Schema {
    const words = all.map((s) => (typeof s === 'object' ? s['enum'] : undefined))
    return words.every((w) => Array.isArray(w)) ? { enum: words.flat() } : { anyOf: all }
  }

  #keys(of: Node): readonly string[] {
    return this.#members(nodes(node(this.#named(nameOf(of['typeName']))['body'])['body']), new Map()).required
  }

  /** The values of a type by `keyof`, or of a constant by `number`. */
  #indexed(of: Node): Schema {
    const inner = of.type === 'TSParenthesizedType' ? node(of['typeAnnotation']) : of
    if (inner.type === 'TSTypeQuery') return { enum: this.#constants[nameOf(inner['exprName'])] }
    const { properties } = this.#fields(this.#named(nameOf(inner['typeName'])), new Map())
    return this.#union(Object.values(properties))
  }

  #reference(of: Node, bound: Bindings): Schema {
    const name = nameOf(of['typeName'])
    const given = nodes(node(of['typeArguments'] ?? { type: '' })['params'] ?? []).map((p) => this.#schema(p, bound))
    const [first = false, second = false] = given
    if (name === 'Readonly') return first
    if (name === 'Record') return this.#record(first, second)
    const own = bound.get(name)
    if (own !== undefined) return own
    const declared = this.#named(name)
    if (given.length === 0) return { $ref: `#/$defs/${name}` }
    const params = nodes(node(declared['typeParameters'])['params']).map((p) => nameOf(p['name']))
    return this.declaration(declared, new Map(params.map((p, at) => [p, given[at] ?? false])))
  }

  #record(key: Schema, value: Schema): Schema {
    const ref = typeof key === 'object' ? key['$ref'] : undefined
    const named = typeof ref === 'string' ? this.#named(ref.slice('#/$defs/'.length)) : undefined
    const words = named === undefined ? undefined : this.declaration(named, new Map())
    const all = typeof words === 'object' ? words['enum'] : undefined
    if (!Array.isArray(all)) return { type: 'object', additionalProperties: value }
    const names = all as readonly string[]
    return closed({ properties: Object.fromEntries(names.map((n) => [n, value])), required: names })
  }
}
