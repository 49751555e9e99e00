// The part that keeps the trust document: a refused one is logged, recorded as an event of the Machine, and shown in its status.
import { newestTrust } from '../components/trust-source.ts'
import { TrustStore } from '../components/trust-store.ts'
import { trustFile, trustFromHostFile } from '../node-dir.ts'
import type { Ground } from './ground.ts'
import { eventsOfMachine } from './machine-events.ts'

export function buildTrust(ground: Ground, onStatus: () => void): TrustStore {
  const { base, files, dir, fetcher, config, log, signal, session } = ground
  const report = eventsOfMachine(ground)
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
