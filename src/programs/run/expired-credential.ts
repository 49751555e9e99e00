// Reports that a kubeconfig's client certificate or token has expired, before a server answers "Unauthorized". This machine's clock may be wrong, so the
// request is sent anyway: this explains the refusal and never causes it.
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { formatAge } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { unverifiedEnd } from '#lib/token-claims.ts'
import type { ConnectionConfig, Source } from '#kube/http/connection.ts'
import { runErrors } from './run-errors.ts'

/** Undefined if it is valid or its expiry is unknown. A login provider renews its own. */
export function expiredCredential(config: ConnectionConfig, now: number): string | undefined {
  if (config.identity !== undefined) return undefined
  const { clientCertificate, token, server } = config
  const found = clientCertificate !== undefined ? endOfCertificate(clientCertificate.cert) : token && endOfToken(token)
  if (found === undefined || Number.isNaN(found) || found > now) return undefined
  const what = clientCertificate !== undefined ? 'client certificate' : 'token'
  const facts = { what, server, at: new Date(found).toISOString(), ago: formatAge(now - found) }
  return new KubeNodeError(runErrors.KN1358(facts)).message
}

function endOfCertificate(source: Source): number | undefined {
  try {
    return new X509Certificate(readSource(source)).validToDate.getTime()
  } catch {
    return undefined
  }
}

function endOfToken(source: Source): number | undefined {
  try {
    return unverifiedEnd(readSource(source))
  } catch {
    // an unreadable file: the request reports it
    return undefined
  }
}

const readSource = (source: Source): string => ('data' in source ? source.data : readFileSync(source.file, 'utf8'))
