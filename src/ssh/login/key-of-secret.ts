// Which key a Secret gives for a machine. The owner of the Secret decides that it may be used, for which pools, and at which hosts; the authors of Machines
// only choose among such Secrets. Pure.
import { BlockList, isIP } from 'node:net'
import type { Machine, SshSpec } from '#api/kinds/machine.ts'
import { ANNOTATIONS, LABELS } from '#api/names.ts'
import { type SshIdentity, publicKeyIn } from '../target.ts'

/** What is read of a Secret. */
export interface LoginSecret {
  readonly metadata: {
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly data?: Readonly<Record<string, string>>
}

export type Key =
  | { readonly kind: 'Key'; readonly identity: SshIdentity }
  /** The rest of a sentence about the Secret. */
  | { readonly kind: 'Refused'; readonly why: string }

const DEFAULT_FIELD = 'ssh-privatekey'
/** Of the key, signed by an authority of users, and short-lived. */
const CERTIFICATE_FIELD = 'ssh-certificate'
/** A key of RSA with 16,384 bits takes 13 KB. */
const MAX_KEY_CHARS = 32_768

export function keyOfSecret(secret: LoginSecret | undefined, machine: Machine, ssh: SshSpec): Key {
  const refused = (why: string): Key => ({ kind: 'Refused', why: `Secret ${ssh.secretRef.name} ${why}` })
  if (secret === undefined) return refused('not found in kubenode-system')
  const { labels, annotations } = secret.metadata
  if (labels?.[LABELS.forSsh] !== 'true')
    return refused(`is not labeled ${LABELS.forSsh}=true, which allows its use for joining hosts`)
  const pools = listIn(annotations?.[ANNOTATIONS.sshPools])
  if (pools !== undefined && !pools.includes(machine.spec.pool ?? ''))
    return refused(`is not for pool ${machine.spec.pool ?? '(none)'} (${ANNOTATIONS.sshPools})`)
  const hosts = listIn(annotations?.[ANNOTATIONS.sshHosts])
  for (const host of [ssh.host, ...(ssh.jump === undefined ? [] : [ssh.jump.host])])
    if (hosts?.some((pattern) => isAt(host, pattern)) === false)
      return refused(`is not for host ${host} (${ANNOTATIONS.sshHosts})`)
  const field = ssh.secretRef.key ?? DEFAULT_FIELD
  const privateKey = textIn(secret, field)
  if (privateKey === undefined) return refused(`has no ${field}`)
  if (privateKey.length > MAX_KEY_CHARS || !privateKey.includes('PRIVATE KEY-----'))
    return refused(`has a ${field} that is no private key`)
  return { kind: 'Key', identity: { kind: 'Key', privateKey, certificate: textIn(secret, CERTIFICATE_FIELD) } }
}

/** What a host needs to accept a rescue key. */
export interface RescueLine {
  readonly publicKey: string
  /** Addresses and ranges from which it is accepted; empty: all. */
  readonly from: readonly string[]
}

const PUBLIC_FIELD = 'ssh-publickey'
/** What sshd takes in `from=`, without names: those would depend on DNS. */
const ADDRESSES = /^!?[0-9A-Fa-f.:]{2,45}(\/\d{1,3})?$/

/** The Secret was checked before. A string: the rest of a sentence about it. */
export function rescueLineOf(secret: LoginSecret): RescueLine | string {
  const text = textIn(secret, PUBLIC_FIELD)
  const publicKey = text === undefined ? undefined : publicKeyIn(text.slice(0, MAX_KEY_CHARS))
  if (publicKey === undefined) return `has no public key in ${PUBLIC_FIELD}`
  const from = listIn(secret.metadata.annotations?.[ANNOTATIONS.sshFrom]) ?? []
  const wrong = from.find((address) => !ADDRESSES.test(address))
  if (wrong !== undefined)
    return `names ${JSON.stringify(wrong)} in ${ANNOTATIONS.sshFrom}, which is no address or range`
  return { publicKey, from }
}

/** Undefined: no limit. An empty list allows nothing. */
const listIn = (text: string | undefined): readonly string[] | undefined =>
  text
    ?.split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')

function isAt(host: string, pattern: string): boolean {
  if (pattern.startsWith('*.')) return isIP(host) === 0 && host.toLowerCase().endsWith(pattern.slice(1).toLowerCase())
  const [network = '', bits] = pattern.split('/')
  const family = isIP(network)
  if (bits === undefined || family === 0) return host.toLowerCase() === pattern.toLowerCase()
  const prefix = Number(bits)
  if (isIP(host) !== family || !/^\d{1,3}$/.test(bits) || prefix > (family === 4 ? 32 : 128)) return false
  const list = new BlockList()
  const name = family === 4 ? 'ipv4' : 'ipv6'
  list.addSubnet(network, prefix, name)
  return list.check(host, name)
}

function textIn({ data }: LoginSecret, field: string): string | undefined {
  const value = data !== undefined && Object.hasOwn(data, field) ? data[field] : undefined
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8')
}
