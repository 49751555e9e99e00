// The part that carries out repairs ordered by the Machine, and counts how they ended.
import { uptime } from 'node:os'
import type { AllComponents } from '../components/all-components.ts'
import type { TrustStore } from '../components/trust-store.ts'
import type { Detection } from '../detect/detection.ts'
import type { NodeObject } from '../node/node-object.ts'
import { askIn } from '../repair/host-service.ts'
import { cleanDisk } from '../repair/clean-disk.ts'
import { collectEvidence } from '../repair/evidence.ts'
import { jobWatches } from '../repair/job-watches.ts'
import type { RunningByName } from '../running.ts'
import { RepairCounts } from '../repair/repair-counts.ts'
import { endLeftScripts, runScript } from '../repair/run-script.ts'
import type { StepPorts } from '../repair/steps.ts'
import type { PartsContext } from './context.ts'

export interface RepairsNeeds {
  readonly components: AllComponents
  readonly trust: TrustStore
  readonly detection: Detection
  readonly nodeObject: NodeObject
  /** UIDs under which permits may name this node. */
  readonly targets: () => readonly string[]
}

export interface RepairParts {
  readonly repairs: RepairCounts
  readonly jobs: RunningByName
}

export function buildRepairs(context: PartsContext, needs: RepairsNeeds): RepairParts {
  const { base, dir, log, client, known, machine, facts } = context
  const { detection, nodeObject, targets } = needs
  const left = endLeftScripts(dir)
  if (left > 0) log.warn('ended processes left by a previous agent', { processes: left })
  const repairs = new RepairCounts()
  const jobs = jobWatches({
    ...base,
    client,
    known,
    machine,
    targets,
    bootId: facts.bootId,
    upMs: () => uptime() * 1_000,
    nodeUid: () => nodeObject.uid(),
    onStep: (operation, outcome, beganAt) => {
      repairs.note(operation, outcome)
      if (outcome === 'Succeeded') detection.repaired(operation, beganAt)
    },
    ports: stepPorts(context, needs),
  })
  return { repairs, jobs }
}

function stepPorts(context: PartsContext, { components, trust }: RepairsNeeds): StepPorts {
  const { files, dir, clock, client, fetcher, platform, environment, systemctl, reboots } = context
  return {
    ask: askIn(components, dir.root === '/' ? systemctl : undefined),
    cleanDisk: (wanted, stop) => cleanDisk({ dir, clock }, wanted, stop),
    runScript: (wanted, stop) =>
      runScript({ files, dir, client, fetcher, trust, clock, platform, environment }, wanted, stop),
    collectEvidence: (wanted, job, stop) => collectEvidence({ files, dir, clock }, wanted.kinds, job, stop),
    reboot: (job) => reboots.request({ job }),
  }
}
