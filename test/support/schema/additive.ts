// What a newer definition would break for objects, clients and agents of a released one: a version that may only gain has no entry here. Pure.
import { listOf, textOf } from '#lib/fields.ts'
import { isObject, jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Schema } from '#api/schema/schema.ts'

type Fields = Readonly<Record<string, unknown>>

const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {})

/** Problems of the definitions `after` for everyone who uses those of `before`. New kinds, versions and fields are none. */
export function additiveProblems(before: readonly KubeObject[], after: readonly KubeObject[]): readonly string[] {
  return before.flatMap((old) => {
    const name = old.metadata.name ?? ''
    const next = after.find((d) => d.metadata.name === name)
    return next === undefined ? [`${name}: the definition is gone`] : definitionProblems(name, old, next)
  })
}

/** What clients call a kind by. */
const NAMES = ['plural', 'singular', 'kind', 'listKind'] as const

function definitionProblems(name: string, before: KubeObject, after: KubeObject): readonly string[] {
  const [old, next] = [fieldsOf(before['spec']), fieldsOf(after['spec'])]
  const [oldNames, names] = [fieldsOf(old['names']), fieldsOf(next['names'])]
  const lost = listOf(oldNames['shortNames']).filter((short) => !listOf(names['shortNames']).includes(short))
  return [
    ...(old['scope'] === next['scope'] ? [] : [`${name}: its scope changed`]),
    ...NAMES.filter((key) => oldNames[key] !== names[key]).map((key) => `${name}: its ${key} changed`),
    ...lost.map((short) => `${name}: the short name ${textOf(short)} is gone`),
    ...listOf(old['versions'])
      .filter(isObject)
      .flatMap((version) => {
        const at = `${name} ${textOf(version['name'])}`
        const kept = listOf(next['versions']).filter(isObject)
        const same = kept.find((v) => v['name'] === version['name'])
        return same === undefined ? [`${at}: the version is gone`] : versionProblems(at, version, same)
      }),
  ]
}

function versionProblems(at: string, before: Fields, after: Fields): readonly string[] {
  const [old, next] = [fieldsOf(before['subresources']), fieldsOf(after['subresources'])]
  const lost = Object.keys(old).filter((key) => !jsonEqual(old[key], next[key]))
  const selectable = listOf(before['selectableFields']).filter(
    (f) => !listOf(after['selectableFields']).some((g) => jsonEqual(f, g)),
  )
  const schemaOf = (version: Fields) => fieldsOf(version['schema'])['openAPIV3Schema'] as Schema
  return [
    ...(before['served'] === true && after['served'] !== true ? [`${at}: it is served no longer`] : []),
    ...(before['storage'] === after['storage'] ? [] : [`${at}: whether objects are stored in it changed`]),
    ...lost.map((key) => `${at}: the subresource ${key} changed`),
    ...selectable.map((f) => `${at}: ${textOf(fieldsOf(f)['jsonPath'])} cannot be selected by any longer`),
    ...schemaProblems(at, schemaOf(before), schemaOf(after)),
  ]
}

/** They decide what a value is, how it is merged and filled in: any change breaks some client. */
const FIXED = [
  'type',
  'format',
  'nullable',
  'default',
  'multipleOf',
  'anyOf',
  'oneOf',
  'allOf',
  'not',
  'x-kubernetes-int-or-string',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
] as const
const UPPER = ['maximum', 'maxLength', 'maxItems', 'maxProperties'] as const
const LOWER = ['minimum', 'minLength', 'minItems', 'minProperties'] as const
/** They refuse values where they are set. */
const STRICT = ['exclusiveMaximum', 'exclusiveMinimum', 'uniqueItems'] as const

function schemaProblems(at: string, old: Schema, next: Schema): readonly string[] {
  return [
    ...FIXED.filter((key) => !jsonEqual(old[key], next[key])).map((key) => `${at}: its ${key} changed`),
    ...valueProblems(at, old, next),
    ...fieldProblems(at, old, next),
    ...(old.items === undefined || next.items === undefined ? [] : schemaProblems(`${at}[]`, old.items, next.items)),
  ]
}

function valueProblems(at: string, old: Schema, next: Schema): readonly string[] {
  const rules = new Set((old['x-kubernetes-validations'] ?? []).map((r) => r.rule))
  const values = old.enum?.filter((value) => next.enum?.some((v) => jsonEqual(v, value)) === false) ?? []
  return [
    ...UPPER.filter((key) => (next[key] ?? Infinity) < (old[key] ?? Infinity)).map((key) => `${at}: its ${key} fell`),
    ...LOWER.filter((key) => (next[key] ?? -Infinity) > (old[key] ?? -Infinity)).map((key) => `${at}: its ${key} rose`),
    ...STRICT.filter((key) => next[key] === true && old[key] !== true).map((key) => `${at}: it has ${key}`),
    ...(next.pattern === undefined || next.pattern === old.pattern ? [] : [`${at}: its pattern changed`]),
    ...values.map((value) => `${at}: the value ${JSON.stringify(value)} is gone`),
    ...(old.enum === undefined && next.enum !== undefined ? [`${at}: it has an enum`] : []),
    ...(next['x-kubernetes-validations'] ?? [])
      .filter(
        ({ rule }) =>
          !rules.has(rule) &&
          ![...rules].some(
            (before) => isWidened(before, rule, old) || isOfNew(before, rule, old) || isPartOf(before, rule),
          ),
      )
      .map(({ rule }) => `${at}: it has the new rule ${rule}`),
  ]
}

const MEMBER = String.raw`\(has\(self\.(\w+)\) \? 1 : 0\)`
const UNION = new RegExp(String.raw`^${MEMBER}( \+ ${MEMBER})* (==|<=) 1$`)
const membersOf = (rule: string): readonly string[] =>
  UNION.test(rule) ? [...rule.matchAll(new RegExp(MEMBER, 'g'))].map(([, name = '']) => name) : []

/** A union with further members accepts whatever it did, unless one of them was a field of its own. */
function isWidened(before: string, rule: string, old: Schema): boolean {
  const [was, is] = [membersOf(before), membersOf(rule)]
  const added = is.filter((name) => !was.includes(name))
  return (
    was.length > 0 &&
    before.split(' ').at(-2) === rule.split(' ').at(-2) &&
    was.every((name) => is.includes(name)) &&
    added.every((name) => old.properties?.[name] === undefined)
  )
}

const ONE_KEPT =
  /(?: && )?\(has\(self\.(\w+)\) \? has\(oldSelf\.\1\) && self\.\1 == oldSelf\.\1 : !has\(oldSelf\.\1\)\)/g

/** Immutable fields with one more, which no released object has. */
const isOfNew = (before: string, rule: string, old: Schema): boolean =>
  before === rule.replaceAll(ONE_KEPT, (clause, name: string) => (old.properties?.[name] === undefined ? '' : clause))

/** Brackets that are closed, at most one within another. */
const CLOSED = String.raw`(?:[^()]|\((?:[^()]|\([^()]*\))*\))*`
const ALL_OR = new RegExp(String.raw`^(${CLOSED} \|\| )\((${CLOSED})\)$`)

/** `a || b` refuses nothing that `a || (b && c)` took. */
function isPartOf(before: string, rule: string): boolean {
  const [, first = '', rest = ''] = ALL_OR.exec(before) ?? []
  return !rest.includes('||') && rest.split(' && ').some((part) => part !== '' && rule === first + part)
}

const KEEPS_UNKNOWN = 'x-kubernetes-preserve-unknown-fields'

function fieldProblems(at: string, old: Schema, next: Schema): readonly string[] {
  const fields = next.properties ?? {}
  // A default fills in a field before the server looks for it.
  const required = (next.required ?? []).filter(
    (key) => old.required?.includes(key) !== true && fields[key]?.default === undefined,
  )
  return [
    ...required.map((key) => `${at}.${key}: it is required`),
    ...(old[KEEPS_UNKNOWN] === true && next[KEEPS_UNKNOWN] !== true ? [`${at}: unknown fields are dropped`] : []),
    ...Object.entries(old.properties ?? {}).flatMap(([key, field]) => {
      const same = fields[key]
      return same === undefined ? [`${at}.${key}: the field is gone`] : schemaProblems(`${at}.${key}`, field, same)
    }),
    ...mapProblems(`${at}.*`, old.additionalProperties, next.additionalProperties),
  ]
}

function mapProblems(at: string, old: Schema['additionalProperties'], next: typeof old): readonly string[] {
  if (typeof old === 'object' && typeof next === 'object') return schemaProblems(at, old, next)
  const isOpen = old !== undefined && old !== false
  return !isOpen || next === true ? [] : [`${at}: keys are allowed no longer, or hold other values`]
}
