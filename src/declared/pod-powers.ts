// What a declared pod uses beyond its own containers: fields with its node's power, Secrets, service accounts. Pure.
import {
  ASKS,
  CLAIM_FIELDS,
  CONTAINER_FIELDS,
  HOOKS,
  MAX_PRIORITY,
  ORDINARY_ANNOTATIONS,
  ORDINARY_PROFILE,
  POD_FIELDS,
  PORT_FIELDS,
  POWERS_WHEN_TRUE,
  PROBES,
  PROFILES,
  PROJECTED_FIELDS,
  SECURITY_FIELDS,
  TOKEN_FIELDS,
  VOLUME_FIELDS,
} from '#api/ordinary-pods.ts'
import { fieldAt, listOf } from '#lib/fields.ts'
import { isObject } from '#lib/json.ts'

const keysOf = (value: unknown): readonly string[] => (isObject(value) ? Object.keys(value) : [])
export const texts = (values: readonly unknown[]): readonly string[] => [
  ...new Set(values.filter((v): v is string => typeof v === 'string' && v !== '')),
]

const WHEN_TRUE: ReadonlySet<string> = new Set(POWERS_WHEN_TRUE)

/** Generators write unset fields as null. */
const beyond = (value: unknown, fields: readonly string[]): readonly string[] =>
  keysOf(value).filter((k) => {
    const given = fieldAt(value, k)
    return !fields.includes(k) && given !== undefined && given !== null && !(WHEN_TRUE.has(k) && given === false)
  })

const containersOf = (pod: unknown): readonly unknown[] =>
  ['containers', 'initContainers'].flatMap((list) => listOf(fieldAt(pod, list)))

/** The names of the fields, for users; empty for an ordinary pod. */
export function powerFields(template: unknown): readonly string[] {
  const pod = fieldAt(template, 'spec')
  const foreign = keysOf(fieldAt(template, 'metadata', 'annotations')).filter(
    (a) => !ORDINARY_ANNOTATIONS.some((prefix) => a.startsWith(prefix)),
  )
  const priority = fieldAt(pod, 'priority')
  return [
    ...foreign.map((a) => `annotation ${a}`),
    ...beyond(pod, POD_FIELDS),
    ...securityPowers(fieldAt(pod, 'securityContext')),
    ...(typeof priority === 'number' && priority > MAX_PRIORITY ? ['priority'] : []),
    ...listOf(fieldAt(pod, 'volumes')).flatMap(volumePowers),
    ...containersOf(pod).flatMap(containerPowers),
  ]
}

function securityPowers(security: unknown): readonly string[] {
  const added = listOf(fieldAt(security, 'capabilities', 'add')).length > 0 ? ['capabilities.add'] : []
  const profiles = PROFILES.filter((p) => {
    const profile = fieldAt(security, p)
    return profile !== undefined && profile !== null && fieldAt(profile, 'type') !== ORDINARY_PROFILE
  })
  return [...beyond(security, SECURITY_FIELDS), ...added, ...profiles].map((f) => `securityContext.${f}`)
}

function containerPowers(container: unknown): readonly string[] {
  const ports = listOf(fieldAt(container, 'ports')).flatMap((p) => beyond(p, PORT_FIELDS))
  const checks = [...PROBES.map((p) => fieldAt(container, p)), ...HOOKS.map((h) => fieldAt(container, 'lifecycle', h))]
  const asks = checks.flatMap((check) => ASKS.filter((ask) => texts([fieldAt(check, ask, 'host')]).length > 0))
  return [
    ...beyond(container, CONTAINER_FIELDS),
    ...securityPowers(fieldAt(container, 'securityContext')),
    ...ports.map((f) => `ports.${f}`),
    ...asks.map((ask) => `${ask}.host`),
  ]
}

const volumePowers = (volume: unknown): readonly string[] =>
  [
    ...beyond(volume, VOLUME_FIELDS),
    ...listOf(fieldAt(volume, 'projected', 'sources')).flatMap((s) =>
      [
        ...beyond(s, PROJECTED_FIELDS),
        ...beyond(fieldAt(s, 'serviceAccountToken'), TOKEN_FIELDS).map((f) => `serviceAccountToken.${f}`),
      ].map((f) => `projected.${f}`),
    ),
    ...claimPowers(fieldAt(volume, 'ephemeral', 'volumeClaimTemplate')),
  ].map((f) => `volumes.${f}`)

/** Powers of a claim that is created for a pod. */
export const claimPowers = (claim: unknown): readonly string[] =>
  beyond(fieldAt(claim, 'spec'), CLAIM_FIELDS).map((f) => `volumeClaimTemplate.${f}`)

export function secretsOf(pod: unknown): readonly string[] {
  const sources = listOf(fieldAt(pod, 'volumes')).flatMap((v) => [
    fieldAt(v, 'secret', 'secretName'),
    ...listOf(fieldAt(v, 'projected', 'sources')).map((s) => fieldAt(s, 'secret', 'name')),
  ])
  const variables = containersOf(pod).flatMap((c) => [
    ...listOf(fieldAt(c, 'envFrom')).map((f) => fieldAt(f, 'secretRef', 'name')),
    ...listOf(fieldAt(c, 'env')).map((e) => fieldAt(e, 'valueFrom', 'secretKeyRef', 'name')),
  ])
  return texts([...sources, ...variables, ...listOf(fieldAt(pod, 'imagePullSecrets')).map((s) => fieldAt(s, 'name'))])
}

/** Every namespace has a default account without rights; it needs no listing. */
export const accountsOf = (pod: unknown): readonly string[] =>
  texts(['serviceAccountName', 'serviceAccount'].map((field) => fieldAt(pod, field))).filter((a) => a !== 'default')
