// Validates a CustomResourceDefinition, with the fields and words of a kube-apiserver.
import { createHash } from 'node:crypto'
import { Effort, EffortSpent } from '#lib/effort.ts'
import { jsonEqual } from '#lib/json.ts'
import { invalid, notSupported, required, StructValue, type FieldError } from '../schema/field-error.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Schema } from '#api/schema/schema.ts'
import { tooExpensiveSchema, VALIDATION_EFFORT } from '../schema/validation-effort.ts'
import { immutable } from '../builtin/field-problem.ts'
import { compileSchemaRules, findField, structuralProblems } from '../machinery.ts'
import { conversionProblems } from './conversion-config.ts'
import { defaultRuleProblems } from './default-rules.ts'
import { label1035Problems, subdomainProblems } from '#api/schema/name-problems.ts'
import {
  fields,
  isEstablished,
  listOfFields,
  namesOf,
  schemaOf,
  specOf,
  statusOf,
  texts,
  versionsOf,
  word,
  type Fields,
} from './definition.ts'

/** `old`: parts that were valid before are not checked again; a definition is applied far more often than it changes. */
export function definitionProblems(o: KubeObject, old?: KubeObject): readonly FieldError[] {
  const spec = specOf(o)
  const out: FieldError[] = []
  const group = word(spec['group'])
  const plural = word(namesOf(o)['plural'])
  if (group === '') out.push(required('spec.group'))
  else {
    out.push(...subdomainProblems(group).map((p) => invalid('spec.group', group, p)))
    if (!group.includes('.')) out.push(invalid('spec.group', group, 'should be a domain with at least one dot'))
  }
  const scope = word(spec['scope'])
  if (scope === '') out.push(required('spec.scope'))
  else if (scope !== 'Cluster' && scope !== 'Namespaced')
    out.push(notSupported('spec.scope', scope, ['Cluster', 'Namespaced']))
  if (group !== '' && plural !== '' && o.metadata.name !== `${plural}.${group}`)
    out.push(invalid('metadata.name', o.metadata.name, 'must be spec.names.plural+"."+spec.group'))
  out.push(...nameProblems(namesOf(o), 'spec.names'))
  out.push(...versionProblems(o, old))
  out.push(...conversionProblems(fields(spec['conversion'])))
  if (spec['preserveUnknownFields'] === true)
    out.push(
      invalid(
        'spec.preserveUnknownFields',
        true,
        'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
      ),
    )
  return [
    ...out,
    ...(old === undefined ? [] : definitionUpdateProblems(o, old)),
    ...storedProblems(o, old !== undefined),
    ...approvalProblems(o, old),
  ]
}

const APPROVAL = 'api-approved.kubernetes.io'
const PROTECTED = /(^|\.)(k8s\.io|kubernetes\.io)$/

/** Groups of the Kubernetes community are protected: a definition in one must name its approval, or state that it has none. */
function approvalProblems(o: KubeObject, old: KubeObject | undefined): readonly FieldError[] {
  if (!PROTECTED.test(word(specOf(o)['group']))) return []
  const approval = o.metadata.annotations?.[APPROVAL]
  if (old !== undefined && approval === old.metadata.annotations?.[APPROVAL]) return []
  const at = `metadata.annotations[${APPROVAL}]`
  const see = 'see https://github.com/kubernetes/enhancements/pull/1111'
  const must = `protected groups must have approval annotation ${JSON.stringify(APPROVAL)}`
  if (approval === undefined || approval === '') return [required(at, `${must}, ${see}`)]
  if (approval.startsWith('unapproved') || (URL.parse(approval)?.host ?? '') !== '') return []
  return [invalid(at, approval, `${must} with either a URL or a reason starting with "unapproved", ${see}`)]
}

function nameProblems(names: Fields, at: string): FieldError[] {
  const out: FieldError[] = []
  const label = (key: string, name: string) =>
    out.push(...label1035Problems(name).map((p) => invalid(`${at}.${key}`, name, p)))
  const plural = word(names['plural'])
  if (plural === '') out.push(required(`${at}.plural`))
  else label('plural', plural)
  if (word(names['singular']) !== '') label('singular', word(names['singular']))
  for (const [i, s] of texts(names['shortNames']).entries()) label(`shortNames[${i}]`, s)
  for (const [i, c] of texts(names['categories']).entries()) label(`categories[${i}]`, c)
  for (const key of ['kind', 'listKind'] as const) {
    const kind = word(names[key])
    if (kind === '') out.push(required(`${at}.${key}`))
    else
      out.push(
        ...label1035Problems(kind.toLowerCase()).map((p) =>
          invalid(`${at}.${key}`, kind, `may have mixed case, but should otherwise match: ${p}`),
        ),
      )
  }
  if (word(names['kind']) !== '' && names['kind'] === names['listKind'])
    out.push(invalid(`${at}.listKind`, names['listKind'], 'kind and listKind may not be the same'))
  return out
}

/** Problems that all versions share are reported once, at the top. */
interface Hoisted {
  readonly schema: boolean
  readonly subresources: boolean
  readonly columns: boolean
  readonly selectable: boolean
}

function hoistedOf(versions: readonly Fields[]): Hoisted {
  const alike = (key: string) => versions.length > 0 && versions.every((v) => jsonEqual(v[key], versions[0]?.[key]))
  const said = (key: string) => alike(key) && versions[0]?.[key] !== undefined
  return {
    schema: said('schema'),
    subresources: said('subresources'),
    columns: said('additionalPrinterColumns'),
    selectable: said('selectableFields'),
  }
}

/** A version as Go prints its internal struct. */
const goVersion = (v: Fields, hoisted: Hoisted): unknown => ({
  Name: v['name'],
  Served: v['served'] === true,
  Storage: v['storage'] === true,
  Deprecated: v['deprecated'] === true,
  DeprecationWarning: v['deprecationWarning'] ?? null,
  Schema: hoisted.schema ? null : (v['schema'] ?? null),
  Subresources: hoisted.subresources ? null : (v['subresources'] ?? null),
  AdditionalPrinterColumns: hoisted.columns ? null : (v['additionalPrinterColumns'] ?? null),
  SelectableFields: hoisted.selectable ? null : (v['selectableFields'] ?? null),
})

function versionProblems(o: KubeObject, old: KubeObject | undefined): FieldError[] {
  const effort = new Effort(VALIDATION_EFFORT)
  const versions = versionsOf(o)
  const before = old === undefined ? [] : versionsOf(old)
  const out: FieldError[] = []
  const hoisted = hoistedOf(versions)
  const shown = () => new StructValue(versions.map((v) => goVersion(v, hoisted)))
  const stored = versions.filter((v) => v['storage'] === true).map((v) => word(v['name']))
  const names = versions.map((v) => word(v['name']))
  for (const [i, name] of names.entries()) {
    out.push(...label1035Problems(name).map((p) => invalid(`spec.versions[${i}].name`, name, p)))
    const warning = versions[i]?.['deprecationWarning']
    if (typeof warning === 'string' && versions[i]?.['deprecated'] !== true)
      out.push(invalid(`spec.versions[${i}].deprecationWarning`, warning, 'can only be set for deprecated versions'))
    if (warning === '')
      out.push(
        invalid(
          `spec.versions[${i}].deprecationWarning`,
          warning,
          'must be non-empty and contain no leading or trailing whitespace',
        ),
      )
  }
  if (new Set(names).size < names.length)
    out.push(invalid('spec.versions', shown(), 'must contain unique version names'))
  if (stored.length !== 1)
    out.push(invalid('spec.versions', shown(), 'must have exactly one version marked as storage version'))
  if (versions.length > 0 && !versions.some((v) => v['served'] === true) && versions.length === 0)
    out.push(required('spec.versions'))
  const seen = new Set<string>()
  for (const [i, v] of versions.entries()) {
    const at = (part: keyof Hoisted, top: string, own: string) =>
      hoisted[part] ? `spec.${top}` : `spec.versions[${i}].${own}`
    const once = (problems: readonly FieldError[], part: keyof Hoisted) => {
      const key = part
      if (hoisted[part] && seen.has(key)) return
      seen.add(key)
      out.push(...problems)
    }
    if (!before.some((b) => sameSchema(b, v)))
      once(
        schemaProblems(
          v,
          hoisted.schema ? 'spec.validation.openAPIV3Schema' : `spec.versions[${i}].schema.openAPIV3Schema`,
          i,
          effort,
        ),
        'schema',
      )
    once(scaleProblems(v, at('subresources', 'subresources', 'subresources')), 'subresources')
    once(columnProblems(v, at('columns', 'additionalPrinterColumns', 'additionalPrinterColumns')), 'columns')
    once(selectableProblems(v, at('selectable', 'selectableFields', 'selectableFields')), 'selectable')
  }
  return out
}

/** These two alone decide whether a schema is validated. */
const sameSchema = (a: Fields, b: Fields): boolean =>
  jsonEqual(a['schema'], b['schema']) && jsonEqual(a['subresources'], b['subresources'])

function storedProblems(o: KubeObject, isUpdate: boolean): FieldError[] {
  const stored = versionsOf(o)
    .filter((v) => v['storage'] === true)
    .map((v) => word(v['name']))
  const recorded = statusOf(o)['storedVersions']
  const list = texts(recorded)
  if (list.length === 0) return [invalid('status.storedVersions', null, 'must have at least one stored version')]
  const storage = stored.at(-1)
  const out: FieldError[] = []
  if (storage !== undefined && !list.includes(storage))
    out.push(invalid('status.storedVersions', list, `must have the storage version ${storage}`))
  const known = new Set(versionsOf(o).map((v) => word(v['name'])))
  for (const [i, v] of list.entries())
    if (!known.has(v)) out.push(invalid(`status.storedVersions[${i}]`, v, isUpdate ? leftVersion(v) : ABSENT_VERSION))
  return out
}

const ABSENT_VERSION = 'must appear in spec.versions'
const leftVersion = (v: string): string =>
  `missing from spec.versions; ${v} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${v} and removes ${v} from status.storedVersions`

function schemaProblems(version: Fields, path: string, i: number, effort: Effort): readonly FieldError[] {
  const schema = schemaOf(version)
  if (schema === undefined) return [required(`spec.versions[${i}].schema.openAPIV3Schema`)]
  const statusSubresource = fields(version['subresources'])['status'] !== undefined
  const key = digestOf([schema, statusSubresource])
  if (faultless.has(key)) return []
  const structural = structuralProblems(schema, path, { statusSubresource, effort })
  if (structural.length > 0) return structural
  const found = expressionProblems(schema, path, effort)
  if (found.length === 0) remember(key)
  return found
}

function expressionProblems(schema: Schema, path: string, effort: Effort): readonly FieldError[] {
  try {
    const { tree, problems } = compileSchemaRules(schema, { path, effort })
    const defaults = defaultRuleProblems(schema, tree, path, effort)
    return defaults.length > 0 ? defaults : problems
  } catch (e) {
    if (e instanceof EffortSpent) return [tooExpensiveSchema(path)]
    throw e
  }
}

/** Of all servers in this process: each new one of a hundred clusters gets the same definitions, and to compile their rules is most of its start. */
const faultless = new Set<string>()
const MOST_FAULTLESS = 512

function remember(key: string): void {
  const [oldest] = faultless
  if (faultless.size >= MOST_FAULTLESS && oldest !== undefined) faultless.delete(oldest)
  faultless.add(key)
}

const digestOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('base64')

// The parts begin differently: if both could match a letter, each further part would double the time.
const SIMPLE_PATH = /^(\.[a-zA-Z_][\w-]*(\[[^\]]*\])?|\.\d[\w-]*)+$/

function scaleProblems(version: Fields, path: string): FieldError[] {
  const scale = fields(version['subresources'])['scale']
  if (scale === undefined) return []
  const out: FieldError[] = []
  const at = `${path}.scale`
  const check = (key: string, roots: readonly string[], must: boolean) => {
    const value = word(fields(scale)[key])
    if (value === '') {
      if (must) out.push(required(`${at}.${key}`))
      return
    }
    if (!SIMPLE_PATH.test(value)) out.push(invalid(`${at}.${key}`, value, 'must be a simple json path'))
    else if (!roots.some((r) => value.startsWith(`${r}.`)))
      out.push(invalid(`${at}.${key}`, value, `should be a json path under ${roots.join(' or ')}`))
  }
  check('specReplicasPath', ['.spec'], true)
  check('statusReplicasPath', ['.status'], true)
  check('labelSelectorPath', ['.spec', '.status'], false)
  return out
}

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string']
const COLUMN_FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password']

function columnProblems(version: Fields, path: string): FieldError[] {
  return listOfFields(version['additionalPrinterColumns']).flatMap((c, i) => {
    const out: FieldError[] = []
    const at = `${path}[${i}]`
    const type = word(c['type'])
    const format = word(c['format'])
    const jsonPath = word(c['jsonPath'])
    if (word(c['name']) === '') out.push(required(`${at}.name`))
    if (type === '') out.push(required(`${at}.type`, `must be one of ${COLUMN_TYPES.join(',')}`))
    else if (!COLUMN_TYPES.includes(type))
      out.push(invalid(`${at}.type`, type, `must be one of ${COLUMN_TYPES.join(',')}`))
    if (format !== '' && !COLUMN_FORMATS.includes(format))
      out.push(invalid(`${at}.format`, format, `must be one of ${COLUMN_FORMATS.join(',')}`))
    if (jsonPath === '') out.push(required(`${at}.JSONPath`))
    else if (!jsonPath.startsWith('.'))
      out.push(invalid(`${at}.JSONPath`, jsonPath, 'must be a simple json path starting with .'))
    return out
  })
}

const MAX_SELECTABLE = 8

function selectableProblems(version: Fields, path: string): FieldError[] {
  const list = listOfFields(version['selectableFields'])
  const schema = schemaOf(version)
  const out: FieldError[] = []
  if (list.length > MAX_SELECTABLE)
    out.push({
      type: 'FieldValueTooMany',
      field: path,
      badValue: list.length,
      detail: `must have at most ${MAX_SELECTABLE} items`,
    })
  const seen = new Set<string>()
  for (const [i, f] of list.entries()) {
    const at = `${path}[${i}].jsonPath`
    const jsonPath = word(f['jsonPath'])
    if (jsonPath === '') {
      out.push(required(at))
      continue
    }
    if (seen.has(jsonPath)) out.push({ type: 'FieldValueDuplicate', field: at, badValue: jsonPath, detail: '' })
    seen.add(jsonPath)
    const found = findField(schema, jsonPath, { brackets: false })
    const type = 'path' in found ? word(found.schema?.['type']) : ''
    const problem =
      'problem' in found
        ? found.problem
        : jsonPath.startsWith('.metadata')
          ? 'does not refer to a valid field'
          : undefined
    if (problem !== undefined) out.push(invalid(at, jsonPath, `is an invalid path: ${problem}`))
    else if (!['string', 'boolean', 'integer'].includes(type))
      out.push(
        invalid(
          at,
          jsonPath,
          'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
        ),
      )
  }
  return out
}

function definitionUpdateProblems(o: KubeObject, old: KubeObject): readonly FieldError[] {
  const fixed = (path: string, before: unknown, now: unknown) => (jsonEqual(before, now) ? [] : [immutable(path, now)])
  const spec = specOf(o)
  const was = specOf(old)
  const out = [
    ...fixed('spec.group', was['group'], spec['group']),
    ...fixed('spec.names.plural', namesOf(old)['plural'], namesOf(o)['plural']),
  ]
  if (!isEstablished(old)) return out
  return [
    ...out,
    ...fixed('spec.scope', was['scope'], spec['scope']),
    ...fixed('spec.names.kind', namesOf(old)['kind'], namesOf(o)['kind']),
  ]
}
