// The part that keeps the trust document: a refused one is logged, recorded as an event of the Machine, and shown in its status.
import { newestTrust } from '../components/trust-source.ts'
import { TrustStore } from '../components/trust-store.ts'
import { trustFile, trustFromHostFile } from '../node-dir.ts'
import type { PartsContext } from './context.ts'
import { eventsOfMachine } from './machine-events.ts'

export function buildTrust(context: PartsContext, onStatus: () => void): TrustStore {
  const { base, files, dir, fetcher, config, log, signal, session } = context
  const report = eventsOfMachine(context)
  return new TrustStore({
    ...base,
    path: trustFile(dir),
    fromHost: trustFromHostFile(dir),
    anchor: session.identity.trust,
    fetchNewest: () => newestTrust({ files, dir, fetcher, url: config.trustUrl, log, signal }),
    onRefusal: (refusal) => {
      onStatus()
      if (refusal === undefined) return
      log.warn('trust document refused', { reason: refusal.message })
      report({ type: 'Warning', reason: 'TrustRefused', action: 'CheckTrust', note: refusal.message })
    },
  })
}
