// The part that keeps the trust document: a refused one is logged, recorded as an event of the Machine, and shown in its status.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { AGENT_REPORTER } from '#api/names.ts'
import { newestTrust } from '../components/trust-source.ts'
import { TrustStore } from '../components/trust-store.ts'
import { trustFile, trustFromHostFile } from '../node-dir.ts'
import type { Ground } from './ground.ts'

const MACHINE_OF_EVENTS = { apiVersion: API_GROUP_VERSION, kind: 'Machine' } as const

export function buildTrust(ground: Ground, onStatus: () => void): TrustStore {
  const { base, files, dir, fetcher, config, log, signal, machine, session } = ground
  const events = ground.eventsOf(AGENT_REPORTER)
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
      const uid = session.machineUid()
      const regarding = { ...MACHINE_OF_EVENTS, metadata: { name: machine, ...(uid !== undefined && { uid }) } }
      events.record(regarding, {
        type: 'Warning',
        reason: 'TrustRefused',
        action: 'CheckTrust',
        note: refusal.message,
      })
    },
  })
}
