// How one version of a custom resource, given as a posted definition, is served: the same code path as built-in kinds, with
// schemas that are interpreted.
import { Effort } from '#lib/effort.ts'
import { isObject, setOwn } from '#lib/json.ts'
import { invalid, type FieldError } from '../schema/field-error.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Schema } from '#api/schema/schema.ts'
import { VALIDATION_EFFORT } from '../schema/validation-effort.ts'
import type { BuiltinSchema, Draft, ScalePaths } from '../builtin/kind.ts'
import { formatJson } from '../codec/json.ts'
import { DecodeError, MAX_UNKNOWN_FIELDS, readTypedField } from '../codec/typed.ts'
import {
  applyDefaults,
  coerceEmbedded,
  compileSchemaRules,
  createValidator,
  prune,
  validateRules,
} from '../machinery.ts'
import { objectMeta } from '../meta/object-meta.ts'
import { ALL_VERBS, type Behaviour, type Decoded, type Served, type TableColumn } from '../registry/served.ts'
import { tooManyUnknown } from '../status/refusal.ts'
import { ageCell } from '../table/age.ts'
import { AGE, NAME } from '../registry/common-columns.ts'
import { fields, listOfFields, namesOf, schemaOf, specOf, texts, versionsOf, word, type Fields } from './definition.ts'
import { conversionWebhookOf, type Convert } from './webhook-converter.ts'
import { webhookConversion } from './webhook-conversion.ts'
import { jsonPathReader } from './json-path.ts'

/** All served versions of a definition. */
export function customServed(definition: KubeObject, convert: Convert): readonly Served[] {
  return versionsOf(definition)
    .filter((v) => v['served'] === true)
    .map((v) => servedVersion(definition, v, convert))
}

function servedVersion(definition: KubeObject, version: Fields, convert: Convert): Served {
  const spec = specOf(definition)
  const names = namesOf(definition)
  const group = word(spec['group'])
  const name = word(version['name'])
  const kind = word(names['kind'])
  const plural = word(names['plural'])
  const schema = (schemaOf(version) ?? {}) as Schema
  const subresources = fields(version['subresources'])
  const scale =
    subresources['scale'] === undefined ? undefined : (fields(subresources['scale']) as unknown as ScalePaths)
  const apiVersion = `${group}/${name}`
  return {
    type: { group, version: name, kind, plural, namespaced: spec['scope'] === 'Namespaced' },
    singular: word(names['singular']),
    listKind: word(names['listKind']),
    shortNames: texts(names['shortNames']),
    categories: texts(names['categories']),
    resource: `${group}/${plural}`,
    verbs: new Set(ALL_VERBS),
    subresources: new Set([
      ...(subresources['status'] === undefined ? [] : ['status']),
      ...(scale === undefined ? [] : ['scale']),
    ]),
    scale,
    nameRule: 'subdomain',
    generation: true,
    createOnUpdate: false,
    unconditionalUpdate: false,
    custom: true,
    terminating: definition.metadata.deletionTimestamp !== undefined,
    schema: wholeSchema(schema),
    columns: columnsOf(version),
    selectableFields: selectableOf(version),
    gracePeriod: undefined,
    defaultPropagation: 'Background',
    deprecation: deprecationOf(version, `${apiVersion} ${kind}`),
    behaviour: behaviourOf({ definition, schema, apiVersion, kind, scale, convert }),
  }
}

function wholeSchema(schema: Schema): BuiltinSchema {
  const own = schema as BuiltinSchema
  return {
    ...own,
    type: 'object',
    properties: { ...own.properties, apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: objectMeta },
  }
}

function deprecationOf(version: Fields, what: string): string | undefined {
  if (version['deprecated'] !== true) return undefined
  return word(version['deprecationWarning']) === '' ? `${what} is deprecated` : word(version['deprecationWarning'])
}

interface CustomFacts {
  readonly definition: KubeObject
  readonly schema: Schema
  readonly apiVersion: string
  readonly kind: string
  readonly scale: ScalePaths | undefined
  readonly convert: Convert
}

function behaviourOf(facts: CustomFacts): Behaviour {
  const { definition, schema, apiVersion, kind } = facts
  const storage = versionsOf(definition).find((v) => v['storage'] === true)
  const group = word(specOf(definition)['group'])
  const storageVersion = `${group}/${word(storage?.['name'])}`
  // an object stored under an older definition may lack defaults and hold removed fields
  const isFirst = (definition.metadata.generation ?? 1) <= 1 && versionsOf(definition).length === 1
  const asIs = isFirst && storageVersion === apiVersion
  const validate = customValidation(facts)
  const same = (o: Draft): Draft => o
  const schemas = new Map(
    versionsOf(definition).map((v) => [`${group}/${word(v['name'])}`, (schemaOf(v) ?? {}) as Schema]),
  )
  // As a real server: with the defaults of the version in which it is stored, before it is converted, and with none of the other.
  const defaulted = (o: KubeObject): KubeObject => applyDefaults(schemas.get(o.apiVersion) ?? schema, o) as KubeObject
  const finished = (o: KubeObject): KubeObject =>
    prune(schema, { ...o, apiVersion }, { embeddedRoot: true }).value as KubeObject
  const webhook = versionsOf(definition).length > 1 ? conversionWebhookOf(definition) : undefined
  return {
    decode: (value) => decodeCustom(schema, value, { apiVersion, kind: word(value['kind']) || kind }),
    applyDefaults: (o) => applyDefaults(schema, o) as Draft,
    prepareForCreate: (o) => (definesStatus(definition, apiVersion) ? withoutStatus(o) : o),
    prepareForUpdate: same,
    prepareForStatusUpdate: same,
    canonicalize: same,
    validate,
    validateStatus: validate,
    admit: () => undefined,
    warnings: () => [],
    fromStored: asIs ? (o) => o : (o) => finished(defaulted(o)),
    toStored:
      webhook !== undefined || storageVersion === apiVersion ? (o) => o : (o) => ({ ...o, apiVersion: storageVersion }),
    storedAsIs: asIs,
    ...(webhook === undefined
      ? {}
      : {
          conversion: webhookConversion({
            webhook,
            convert: facts.convert,
            apiVersion,
            storageVersion,
            defaulted,
            finished,
          }),
        }),
  }
}

const definesStatus = (definition: KubeObject, apiVersion: string): boolean =>
  versionsOf(definition).some(
    (v) => apiVersion.endsWith(`/${word(v['name'])}`) && fields(v['subresources'])['status'] !== undefined,
  )

function withoutStatus(o: Draft): Draft {
  const { status: _, ...rest } = o
  return rest
}

const PRESERVED: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

function decodeCustom(
  schema: Schema,
  value: Fields,
  head: { readonly apiVersion: string; readonly kind: string },
): Decoded {
  const unknown: string[] = []
  const meta = value['metadata'] ?? {}
  if (!isObject(meta))
    throw new DecodeError(
      'json: cannot unmarshal non-object into Go struct field ObjectMeta.metadata of type v1.ObjectMeta',
    )
  const typed = readTypedField(objectMeta, meta, 'metadata')
  unknown.push(...typed.unknownFields)
  const own: Record<string, unknown> = {}
  for (const [k, v] of Object.entries(value)) if (!PRESERVED.has(k)) setOwn(own, k, v)
  const pruned = prune(schema, { ...own, ...head }, { embeddedRoot: true, mostUnknown: MAX_UNKNOWN_FIELDS })
  if (pruned.unknownFields.length > MAX_UNKNOWN_FIELDS) throw tooManyUnknown(MAX_UNKNOWN_FIELDS)
  const coerced = coerceEmbedded(schema, pruned.value)
  unknown.push(...pruned.unknownFields, ...coerced.unknownFields)
  const rest = fields(coerced.value)
  return { object: { ...head, metadata: typed.value, ...withoutHead(rest) }, unknownFields: unknown }
}

function withoutHead(value: Fields): Fields {
  const { apiVersion: _v, kind: _k, metadata: _m, ...rest } = value
  return rest
}

const BLOCKING: ReadonlySet<string> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])
const NOT_CHECKED =
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation'

/** Created for the first object: most definitions have none for a long time. */
function customValidation({ schema, scale, kind }: CustomFacts): Behaviour['validate'] {
  let ready:
    | {
        readonly validator: ReturnType<typeof createValidator>
        readonly rules: ReturnType<typeof compileSchemaRules>['tree']
      }
    | undefined
  const made = () => (ready ??= { validator: createValidator(schema), rules: compileSchemaRules(schema).tree })
  return (object, old) => {
    const { validator, rules } = made()
    if (object.kind !== kind) return [invalid('kind', object.kind, `must be ${kind}`)]
    const effort = new Effort(VALIDATION_EFFORT)
    const errors: FieldError[] = [...validator.validate(object, { effort, ...(old !== undefined && { old }) })]
    if (scale !== undefined) errors.push(...replicaProblems(object, scale))
    if (rules === undefined) return errors
    if (errors.some((e) => BLOCKING.has(e.type))) return [...errors, invalid('<nil>', null, NOT_CHECKED)]
    return [...errors, ...validateRules(rules, object, old, { effort }).errors]
  }
}

function replicaProblems(object: KubeObject, { specReplicasPath }: ScalePaths): readonly FieldError[] {
  const [replicas] = jsonPathReader(specReplicasPath)(object)
  if (typeof replicas !== 'number' || replicas >= 0) return []
  return [invalid(specReplicasPath, replicas, 'should be a non-negative integer')]
}

/** Of definitions it is a date, of built-in kinds a string: a real server says so too. */
const CUSTOM_AGE: TableColumn = { ...AGE, type: 'date' }

function columnsOf(version: Fields): readonly TableColumn[] {
  const own = listOfFields(version['additionalPrinterColumns'])
  if (own.length === 0) return [NAME, CUSTOM_AGE]
  return [NAME, ...own.map(columnOf)]
}

function columnOf(column: Fields): TableColumn {
  const path = word(column['jsonPath'])
  const read = jsonPathReader(path)
  const type = word(column['type'])
  const priority = column['priority']
  return {
    name: word(column['name']),
    type,
    format: word(column['format']),
    description: word(column['description']) || `Custom resource definition column (in JSONPath format): ${path}`,
    priority: typeof priority === 'number' ? priority : 0,
    cell: (o, now) => cellOf(read(o), type, now),
  }
}

function cellOf([value]: readonly unknown[], type: string, now: number): string | number | boolean | null {
  if (value === undefined || value === null) return null
  switch (type) {
    case 'date':
      return typeof value === 'string' ? ageCell(value, now) : null
    case 'integer':
    case 'number':
      return typeof value === 'number' ? value : null
    case 'boolean':
      return typeof value === 'boolean' ? value : null
    default:
      return typeof value === 'string' ? value : formatJson(value)
  }
}

function selectableOf(version: Fields): Served['selectableFields'] {
  return new Map(
    listOfFields(version['selectableFields']).map((f) => {
      const path = word(f['jsonPath'])
      const read = jsonPathReader(path)
      return [path.replace(/^\./, ''), (o: KubeObject) => textOf(read(o)[0])]
    }),
  )
}

const textOf = (v: unknown): string =>
  typeof v === 'string' || typeof v === 'number' || typeof v === 'boolean' ? String(v) : ''
