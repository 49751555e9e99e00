// The part that runs the acceptance of a new Node.
import { AcceptanceRuns } from '../acceptance/acceptance-runs.ts'
import type { TrustStore } from '../components/trust-store.ts'
import { acceptanceDir } from '../node-dir.ts'
import { endLeftScripts, runScript } from '../repair/run-script.ts'
import type { PartsContext } from './context.ts'

export function buildAcceptance(context: PartsContext, trust: TrustStore, onChange: () => void): AcceptanceRuns {
  const { base, files, clock, client, fetcher, platform, environment, log } = context
  const dir = acceptanceDir(context.dir)
  const left = endLeftScripts(dir)
  if (left > 0) log.warn('ended processes left by a previous agent', { processes: left })
  return new AcceptanceRuns({
    ...base,
    onChange,
    runScript: (script, stop) =>
      runScript({ files, dir, client, fetcher, trust, clock, platform, environment }, script, stop),
  })
}
