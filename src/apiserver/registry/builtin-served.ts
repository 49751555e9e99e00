// How a built-in kind, given as data, is served.
import { applyDefaults } from '../machinery.ts'
import type { BuiltinKind, Column, Draft } from '../builtin/kind.ts'
import { readTyped } from '../codec/typed.ts'
import { apiVersionOf } from '#api/schema/resource.ts'
import { wholeSchema } from '../meta/object-meta.ts'
import { metadataDescription } from '../table/descriptions.ts'
import { AGE, NAME } from './common-columns.ts'
import { ALL_VERBS, type Behaviour, type Served, type TableColumn } from './served.ts'

const same = (object: Draft): Draft => object
const none = (): readonly never[] => []

export function builtinServed(kind: BuiltinKind): Served {
  const { type } = kind
  const schema = wholeSchema(type.kind, kind.schema)
  return {
    type,
    singular: type.kind.toLowerCase(),
    listKind: `${type.kind}List`,
    shortNames: kind.shortNames ?? [],
    categories: kind.categories ?? [],
    resource:
      kind.storedAs === undefined ? `${type.group}/${type.plural}` : `${kind.storedAs.group}/${kind.storedAs.plural}`,
    verbs: new Set(kind.verbs ?? ALL_VERBS),
    subresources: new Set(kind.subresources),
    scale: kind.scale,
    nameRule: kind.nameRule ?? 'subdomain',
    generation: kind.generation ?? false,
    createOnUpdate: kind.createOnUpdate ?? false,
    unconditionalUpdate: true,
    custom: false,
    terminating: false,
    schema,
    columns: columnsOf(kind.columns),
    selectableFields: new Map(Object.entries(kind.selectableFields ?? {})),
    gracePeriod: kind.gracePeriod,
    defaultPropagation: kind.defaultPropagation ?? 'Background',
    deprecation: undefined,
    behaviour: behaviourOf(kind, schema),
  }
}

function behaviourOf(kind: BuiltinKind, schema: ReturnType<typeof wholeSchema>): Behaviour {
  const head = { kind: kind.type.kind, apiVersion: apiVersionOf(kind.type) }
  return {
    decode(value) {
      const { value: read, unknownFields } = readTyped(schema, value)
      const { apiVersion: _v, kind: _k, metadata, ...rest } = read
      return { object: { ...head, metadata: metadata ?? {}, ...rest }, unknownFields }
    },
    applyDefaults(object) {
      const filled = applyDefaults(schema, object) as Draft
      return kind.applyDefaults?.(filled) ?? filled
    },
    prepareForCreate: kind.prepareForCreate ?? same,
    prepareForUpdate: kind.prepareForUpdate ?? same,
    prepareForStatusUpdate: kind.prepareForStatusUpdate ?? same,
    canonicalize: kind.canonicalize ?? same,
    validate: kind.validate ?? none,
    validateStatus: kind.validateStatus ?? none,
    admit: kind.admit ?? (() => undefined),
    warnings: kind.warnings ?? none,
    fromStored: kind.storedAs?.fromStored ?? ((o) => o),
    toStored: kind.storedAs?.toStored ?? ((o) => o),
    storedAsIs: kind.storedAs === undefined,
  }
}

const CREATED: TableColumn = {
  name: 'Created At',
  type: 'date',
  format: '',
  description: metadataDescription.creationTimestamp,
  priority: 0,
  cell: (o) => o.metadata.creationTimestamp ?? null,
}

/** A kind without columns of its own shows what every object has. */
function columnsOf(columns: readonly Column[] | undefined): readonly TableColumn[] {
  if (columns === undefined) return [NAME, CREATED]
  const own = columns.map((c): TableColumn => {
    // every kind has these two, in the same words
    if (c.name === 'Name' && c.format === 'name') return { ...NAME, priority: c.priority ?? 0 }
    if (c.name === 'Age') return AGE
    return { ...c, format: c.format ?? '', description: c.description ?? '', priority: c.priority ?? 0 }
  })
  return own.some((c) => c.format === 'name') ? own : [NAME, ...own]
}
