// Options of the artifacts role, and which CA hosts pin. Impossible combinations are reported before any request.
import { isIPv6 } from 'node:net'
import type { ArtifactsConfig } from '#artifacts/role.ts'
import { readBoundedText } from '#lib/bounded-file.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import { runErrors } from './run-errors.ts'
import { addressIn } from './listeners.ts'

export interface ArtifactsOptions {
  readonly artifactsFolder?: string
  readonly artifactsOci?: string
  readonly artifactsListen?: string
  readonly artifactsHost?: string
  readonly artifactsCert?: string
  readonly artifactsKey?: string
}

const DEFAULT_LISTEN = '127.0.0.1:0'

/** With the digest of the bundle to pull into the folder first. */
export type ServedArtifacts = ArtifactsConfig & {
  readonly oci?: { readonly reference: string; readonly digest: string }
}

export function artifactsConfigOf(options: ArtifactsOptions): ServedArtifacts {
  const { artifactsFolder: folder, artifactsListen: listen = DEFAULT_LISTEN, artifactsCert: cert } = options
  const { artifactsKey: key, artifactsHost = '' } = options
  const wrong = (what: string) => new KubeNodeError(runErrors.KN1002_artifacts({ what }))
  if (folder === undefined) throw wrong('--artifacts-folder is missing')
  if ((cert === undefined) !== (key === undefined)) throw wrong('--artifacts-cert and --artifacts-key belong together')
  const hosts = artifactsHost
    .split(',')
    .map((h) => hostOf(h.trim()))
    .filter((h) => h !== '')
  if (cert === undefined && hosts.length === 0) throw wrong('--artifacts-host is missing: the names that hosts use')
  const certificate = cert === undefined || key === undefined ? { hosts } : { cert, key }
  const { artifactsOci: reference } = options
  const digest = reference?.split('@')[1]
  if (reference !== undefined && digest === undefined) throw wrong('--artifacts-oci has no digest (HOST/NAME@sha256:…)')
  const oci = reference === undefined || digest === undefined ? {} : { oci: { reference, digest } }
  return { folder, ...addressIn('--artifacts-listen', listen), certificate, ...oci }
}

/** Without port, and without the brackets of an IPv6 address: certificates have neither. */
const hostOf = (address: string): string =>
  isIPv6(address) ? address : address.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')

/** A file's PEM in base64. */
export function authorityIn(file: string): string {
  try {
    const text = readBoundedText(file)
    if (text.includes('-----BEGIN CERTIFICATE-----')) return Buffer.from(text).toString('base64')
  } catch (error) {
    throw new KubeNodeError(runErrors.KN1329({ file, why: systemTrouble(error) }), { cause: error })
  }
  throw new KubeNodeError(runErrors.KN1329({ file, why: 'it holds no certificate in PEM' }))
}
