// Where a trust document can come from: below the artifact base, or else from the join bundle. Neither source is trusted on its own.
import { MAX_TRUST_BYTES } from '#api/trust/trust-document.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { Files } from '../files/port.ts'
import { firstTrustFile, type NodeDir } from '../node-dir.ts'
import { readState } from '../files/durable.ts'
import type { Fetcher } from './fetch.ts'

export interface TrustSourceDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly fetcher: Fetcher
  /** Relative to the artifact base. */
  readonly url: string
  readonly log: Logger
  readonly signal: AbortSignal
}

export async function newestTrust(deps: TrustSourceDeps): Promise<unknown> {
  const { fetcher, url, log, signal, files, dir } = deps
  try {
    const chunks: Buffer[] = []
    for await (const chunk of fetcher.open(url, MAX_TRUST_BYTES, signal)) chunks.push(chunk)
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch (e) {
    log.debug('cannot fetch the trust document', { error: messageOf(e) })
    return readState(files, firstTrustFile(dir), (v) => v)
  }
}
