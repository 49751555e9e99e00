// Restarts a kubelet, container runtime or time service that a distribution runs on this host: their repair must not depend on whether KubeNode installed them. A
// closed list, and never a service that a user stopped.
import { DETECTOR_DEFAULTS } from '#api/agent-config/detector-settings.ts'
import type { AllComponents } from '../components/all-components.ts'
import { failed, type AskResult } from '../components/asks.ts'
import { isLeftToHost } from '../components/record.ts'
import { isFrozenState, readStat } from '../supervise/proc.ts'
import type { Systemctl } from '../supervise/systemd/systemctl.ts'
import type { StepPorts } from './steps.ts'

/** What Debian, Ubuntu and Red Hat call theirs. */
const TIME_SERVICES: readonly string[] = ['chrony', 'chronyd', 'systemd-timesyncd']
/** What the built-in detectors watch, and what sets the clock that they measure. */
const HOST_SERVICES: readonly string[] = ['kubelet', ...DETECTOR_DEFAULTS.runtime.services, ...TIME_SERVICES]

/** Undefined for anything else. */
export async function restartHostService(
  systemctl: Systemctl,
  service: string,
  isStopped: (pid: number) => boolean = (pid) => isFrozenState(readStat(pid)?.state ?? ''),
): Promise<AskResult | undefined> {
  if (!HOST_SERVICES.includes(service)) return undefined
  const unit = `${service}.service`
  const [state] = await systemctl.show([unit])
  if (state?.load !== 'loaded') return undefined
  if (state.active === 'inactive') return failed(`${unit} was stopped by a user or a program`)
  // A stopped process never handles TERM.
  if (state.mainPid > 0 && isStopped(state.mainPid))
    await systemctl.run('kill', '--kill-who=main', '-s', 'SIGKILL', '--', unit)
  if (state.active === 'failed') await systemctl.run('reset-failed', '--', unit)
  await systemctl.run('restart', '--', unit)
  return { kind: 'Done' }
}

/** Carries out what a repair asks of a component. One that left, or is only staged, belongs to the host, which repairs its own. */
export const askIn =
  (
    components: Pick<AllComponents, 'workers' | 'ask'>,
    systemctl: Systemctl | undefined,
    isStopped?: (pid: number) => boolean,
  ): StepPorts['ask'] =>
  async (component, kind) => {
    const worker = components.workers.find((w) => w.component === component)
    const isOfHost = isLeftToHost(worker?.record) && kind === 'Restart' && systemctl !== undefined
    const found = isOfHost ? await restartHostService(systemctl, component, isStopped) : undefined
    return found ?? components.ask(component, kind)
  }
