// The part that runs processes: systemd on a host, the agent itself in a folder. The agent's own process is switched the same way.
import { KubeNodeError } from '#lib/errors.ts'
import { agentErrors } from '../agent-errors.ts'
import { WithSelf } from '../self/self-process.ts'
import { chooseProcesses } from '../supervise/choose.ts'
import type { PartsContext } from './context.ts'

const cannotEnd = (): never => {
  throw new KubeNodeError(agentErrors.KN8003_supervisor())
}

export function buildSupervisor(context: PartsContext): WithSelf {
  const { base, files, dir, slot, config, facts, binFolder, environment, systemctl } = context
  const { frozenAfterMs, frozenGraceMs } = config
  const chosen = chooseProcesses(
    { ...base, binFolder, environment, frozenAfterMs, frozenGraceMs, bootId: facts.bootId },
    systemctl,
  )
  return new WithSelf(chosen, { files, dir, slot, end: context.endForSwitch ?? cannotEnd })
}
