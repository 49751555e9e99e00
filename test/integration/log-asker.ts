// What tests of `kubenode logs` share: requests passed on as the controller does it, and the command's own code with what it prints.
import { logRequest } from '#api/kinds/log-request.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { readLog } from '#nodes/logs/read-log.ts'
import { act } from '#controllers/log/act.ts'
import { plan } from '#controllers/log/plan.ts'
import { systemClock } from '#lib/system-clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { AgentBench } from './agent-bench.ts'

/** As the controller does it, with its own plan. */
export async function passOn(bench: AgentBench, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const [requests, machines] = await Promise.all([bench.client.list(logRequest), bench.client.list(machineType)])
    const seen = { requests: requests.items, machines: machines.items }
    for (const action of plan(seen, Date.now()).actions) await act(bench.client, action, signal)
    await systemClock.sleep(50, signal).catch(() => undefined)
  }
}

interface Wish {
  readonly component?: string
  readonly tail?: number
  readonly sinceSeconds?: number
  readonly follow?: boolean
  readonly onOut?: (text: string) => void
  readonly signal?: AbortSignal
}

export async function askLog(
  bench: AgentBench,
  { component = 'beacon', follow = false, onOut, signal, ...more }: Wish,
): Promise<{ readonly out: string; readonly err: string; readonly problem: string }> {
  const said = { out: '', err: '' }
  const found = await bench.machine()
  if (found === undefined) throw new Error('no machine')
  const asking = {
    client: bench.client,
    clock: systemClock,
    reader: {
      lines: (lines: readonly string[]) => {
        said.out += lines.map((line) => `${line}\n`).join('')
        onOut?.(said.out)
      },
      note: (text: string) => void (said.err += `${text}\n`),
    },
    machine: found,
    agentKey: found.status?.agent?.publicKey ?? '',
    by: 'test',
    component,
    follow,
    signal: signal ?? new AbortController().signal,
    onAnswer: async () => undefined,
    ...more,
  }
  const problem = await readLog(asking).then(() => '', messageOf)
  return { ...said, problem }
}
