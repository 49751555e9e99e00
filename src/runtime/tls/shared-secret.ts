// The Secret in which replicas share certificates and related data: values are read as text, and written only over the version that was read.
import { isObject } from '#lib/json.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { outcomeOf } from '#kube/outcome.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { updateExactly } from '../preconditions.ts'

const secretType = coreKind('Secret')

export interface SecretKey {
  readonly namespace: string
  readonly name: string
}

export interface SharedSecret {
  /** Undefined: it does not exist. */
  readonly object: KubeObject | undefined
  readonly data: Readonly<Record<string, string>>
}

/** Text values only. */
export async function readSecret(client: KubeClient, key: SecretKey): Promise<SharedSecret> {
  const object = await client.get(secretType, key)
  const data = isObject(object?.['data']) ? object['data'] : {}
  const texts = Object.entries(data).flatMap(([k, v]) =>
    typeof v === 'string' ? [[k, Buffer.from(v, 'base64').toString()] as const] : [],
  )
  return { object, data: Object.fromEntries(texts) }
}

/** False if another client was faster. */
export async function writeSecret(
  client: KubeClient,
  key: SecretKey,
  { object }: SharedSecret,
  texts: Readonly<Record<string, string>>,
): Promise<boolean> {
  const data = Object.fromEntries(Object.entries(texts).map(([k, v]) => [k, Buffer.from(v).toString('base64')]))
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: key, type: 'kubernetes.io/tls', data }
  const outcome =
    object === undefined
      ? await outcomeOf(() => client.create(secretType, secret))
      : await updateExactly(client, secretType, { ...object, data })
  if (outcome.kind === 'Denied') throw outcome.error
  return outcome.kind === 'Applied'
}
