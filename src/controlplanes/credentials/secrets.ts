// Credentials as Secrets, one per item: `item.json` is read back, the other entries are mounted by pods. Pure.
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import { isText } from '#lib/fields.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { BuiltIn } from '#kube/built-in.ts'
import { bundleOf, signerOf, type Held, type HeldItem } from './held.ts'

const PREFIX = 'credentials-'
const ITEM = 'item.json'
const TYPE = 'kubenode.io/credentials'

export const credentialSecretName = (item: string): string => `${PREFIX}${item}`

export const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** File names as in kubeadm and cert-manager. */
function filesOf(item: HeldItem): Readonly<Record<string, string>> {
  switch (item.kind) {
    case 'Leaf':
      return { 'tls.crt': item.certificate, 'tls.key': item.key }
    case 'Kubeconfig':
      return { kubeconfig: item.text }
    case 'SealingKeys':
      // Only KubeNode reads it: servers get these keys in a separate configuration.
      return {}
    case 'Root': {
      const { key } = signerOf(item) ?? {}
      return { 'ca.crt': bundleOf(item), ...defined({ 'ca.key': key }) }
    }
    default:
      return item satisfies never
  }
}

export function credentialSecret(
  namespace: string,
  name: string,
  item: HeldItem,
): BuiltIn['Secret'] & { readonly data: Readonly<Record<string, string>> } {
  const entries = Object.entries({ [ITEM]: JSON.stringify(item), ...filesOf(item) })
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: TYPE,
    metadata: { namespace, name: credentialSecretName(name) },
    data: Object.fromEntries(entries.map(([file, text]) => [file, base64(text)])),
  }
}

/** Ignores other programs' Secrets. `damaged` lists unreadable credentials: nothing is created then, because a new authority would cut off every node. */
export function heldIn(secrets: readonly KubeObject[]): { readonly held: Held; readonly damaged: readonly string[] } {
  const held: Record<string, HeldItem> = {}
  const damaged: string[] = []
  for (const secret of secrets) {
    const { name = '' } = secret.metadata
    if (!name.startsWith(PREFIX) || secret['type'] !== TYPE) continue
    const item = itemIn(secret)
    if (item === undefined) damaged.push(name)
    else held[name.slice(PREFIX.length)] = item
  }
  return { held, damaged }
}

function itemIn({ data }: KubeObject): HeldItem | undefined {
  const text = isObject(data) && typeof data[ITEM] === 'string' ? Buffer.from(data[ITEM], 'base64').toString() : ''
  try {
    return itemOf(JSON.parse(text))
  } catch {
    return undefined
  }
}

function itemOf(value: unknown): HeldItem | undefined {
  const item = isObject(value) && value['kind'] === 'SharedKey' ? firstSealingKey(value['key']) : value
  return isItem(item) ? item : undefined
}

/** The stored form from before such a key could be replaced. */
const firstSealingKey = (key: unknown) => ({
  kind: 'SealingKeys',
  generations: [{ number: 1, declared: 1, since: 0, key }],
  signs: 1,
  signsSince: 0,
})

/** Parses all items from the text that `JSON.stringify` wrote; undefined if damaged. */
export function heldInText(text: string): Held | undefined {
  try {
    const items: unknown = JSON.parse(text)
    return isObject(items) && Object.values(items).every(isItem) ? (items as Held) : undefined
  } catch {
    return undefined
  }
}

function isItem(item: unknown): item is HeldItem {
  if (!isObject(item)) return false
  switch (item['kind']) {
    case 'Leaf':
      return [item['madeOf'], item['key'], item['certificate']].every(isText)
    case 'Kubeconfig':
      return [item['madeOf'], item['text']].every(isText)
    case 'SealingKeys':
      return hasGenerations(item, 'key')
    case 'Root':
      return hasGenerations(item, 'open')
    default:
      return false
  }
}

const hasGenerations = ({ generations, signs }: Readonly<Record<string, unknown>>, material: 'open' | 'key'): boolean =>
  Array.isArray(generations) &&
  generations.length > 0 &&
  generations.every((g) => isObject(g) && isText(g[material]) && typeof g['number'] === 'number') &&
  typeof signs === 'number'
