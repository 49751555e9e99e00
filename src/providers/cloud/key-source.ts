// Sources of a cloud's keys: variables or a file, a cluster token exchanged for keys, or the host's metadata service.
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { type Keys, type KeySource, keysInFile, parsed } from './credentials.ts'
import type { Transport } from './http.ts'
import { textIn } from './json.ts'
import type { MetadataSession } from './metadata.ts'

export interface KeyOptions {
  readonly region: string
  readonly credentials: 'Environment' | 'File' | 'Metadata'
  readonly keyFile?: string
  readonly stsEndpoint?: string
  readonly metadataEndpoint?: string
}

export interface KeyTools {
  readonly transport: Transport
  readonly clock: Pick<Clock, 'now'>
  readonly env: Readonly<Record<string, string | undefined>>
}

/** The vendor's names for the parts of temporary keys. */
interface KeyNames {
  readonly id: string
  readonly secret: string
  readonly session: string
}

export interface VendorKeys {
  readonly metadata: MetadataSession
  /** Page of the metadata service with the name of the host's role; its keys are below it. */
  readonly rolePage: string
  readonly role: RegExp
  /** What is missing on a host without a role. */
  readonly roleWord: string
  readonly names: KeyNames
  /** Variables with keys. */
  readonly keyVariables: KeyNames
  /** Variables of a role that is assumed with a cluster token. */
  readonly roleVariables: readonly string[]
  exchange(values: readonly string[], options: KeyOptions, tools: KeyTools): KeySource
}

export const SESSION_SECONDS = '3600'
/** Lifetime of a metadata session: enough for the three requests of one renewal. */
const METADATA_SECONDS = '60'

/** Throws if neither the options nor the environment name keys. */
export function keysFrom(vendor: VendorKeys, options: KeyOptions, tools: KeyTools): KeySource {
  const { credentials, keyFile } = options
  if (credentials === 'File') {
    if (keyFile === undefined) throw new Error('credentials: File needs keyFile')
    return keysInFile(keyFile)
  }
  if (credentials === 'Metadata') return metadataKeys(vendor, options, tools.transport)
  const { keyVariables: names, roleVariables } = vendor
  const role = roleVariables.map((name) => tools.env[name] ?? '')
  if (role.every((value) => value !== '')) return vendor.exchange(role, options, tools)
  const [id, secret, session] = [tools.env[names.id], tools.env[names.secret], tools.env[names.session]]
  if (!id || !secret) {
    const needed = `${roleVariables.slice(0, -1).join(', ')} and ${roleVariables.at(-1)}`
    throw new Error(`the environment has neither ${needed} nor ${names.id} and ${names.secret}`)
  }
  return async () => ({ id, secret, ...defined({ session: session === '' ? undefined : session }) })
}

function metadataKeys(vendor: VendorKeys, { metadataEndpoint }: KeyOptions, transport: Transport): KeySource {
  const { origin, secondsHeader, sessionHeader } = vendor.metadata
  const base = new URL(metadataEndpoint ?? origin).origin
  return async (signal) => {
    const headers = { [secondsHeader]: METADATA_SECONDS }
    const session = await transport({ method: 'PUT', url: `${base}/latest/api/token`, headers }, signal)
    if (session.status !== 200) throw new Error(`the metadata service gives no session (status ${session.status})`)
    const read = (page: string) =>
      transport({ method: 'GET', url: base + page, headers: { [sessionHeader]: session.text.trim() } }, signal)
    const role = await read(vendor.rolePage)
    const name = role.text.trim()
    if (role.status !== 200 || !vendor.role.test(name)) throw new Error(`the host has no ${vendor.roleWord}`)
    const { status, text } = await read(vendor.rolePage + name)
    const body = parsed(text)
    const at = (field: string) => textIn(body, field)
    return lentKeys(vendor.names, { from: 'the metadata service', status, code: at('Code'), at })
  }
}

interface Lent {
  readonly from: string
  readonly status: number
  readonly code: string | undefined
  /** A field of the temporary keys. */
  readonly at: (name: string) => string | undefined
}

/** Leave the vendor's text out of the error: it may repeat the request. */
export function lentKeys(names: KeyNames, { from, status, code = '', at }: Lent): Keys {
  const [id, secret, session] = [at(names.id), at(names.secret), at(names.session)]
  const expiresAt = Date.parse(at('Expiration') ?? '')
  if (status === 200 && id && secret && session && !Number.isNaN(expiresAt)) return { id, secret, session, expiresAt }
  throw new Error(`${from} gives no keys: ${/^[\w.]{1,64}$/.test(code) ? code : `status ${status}`}`)
}
