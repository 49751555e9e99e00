// The part that answers log requests for components, and for the agent itself.
import { componentConfig } from '#api/kinds/component-config.ts'
import type { AllComponents } from '../components/all-components.ts'
import type { ComponentRecord } from '../components/record.ts'
import { secretTexts } from '../components/secrets.ts'
import { logAnswers } from '../logs/log-answers.ts'
import type { RunningByName } from '../running.ts'
import { AGENT_COMPONENT } from '../self/switch-file.ts'
import type { Processes } from '../supervise/port.ts'
import type { PartsContext } from './context.ts'

export interface LogsNeeds {
  readonly supervisor: Processes
  readonly components: AllComponents
}

export function buildLogs(context: PartsContext, { supervisor, components }: LogsNeeds): RunningByName {
  const { base, client, known, machine, session } = context
  const recordOf = (component: string) => components.workers.find((w) => w.component === component)?.record
  return logAnswers({
    ...base,
    client,
    known,
    machine,
    machineUid: session.machineUid,
    privateKey: session.sealing.privateKey,
    components: () => [AGENT_COMPONENT, ...components.workers.flatMap((w) => withRecord(w.component, w.record))],
    placeOf: (component) => supervisor.logPlace?.(component),
    secretsOf: async (component) => {
      const record = recordOf(component)
      return record === undefined ? [] : secretsOf(context, record)
    },
  })
}

const withRecord = (component: string, record: ComponentRecord | undefined): readonly string[] =>
  record === undefined || component === AGENT_COMPONENT ? [] : [component]

/**
 * Secrets of the running version must be known, or its log is not shown. The log may also contain secrets of other versions, whose configurations may
 * already be deleted.
 */
async function secretsOf(context: PartsContext, { component, ...record }: ComponentRecord): Promise<readonly string[]> {
  const running = new Set([record.current?.config, record.open?.to.config])
  const others = [record.previous?.config, record.staged?.config, record.target.config].filter((c) => !running.has(c))
  const known = [...running].flatMap((config) => (config === undefined ? [] : [secretsIn(context, component, config)]))
  const perhaps = others.flatMap((config) => (config === undefined ? [] : [secretsIn(context, component, config)]))
  const old = await Promise.allSettled(perhaps)
  return [...(await Promise.all(known)).flat(), ...old.flatMap((r) => (r.status === 'fulfilled' ? r.value : []))]
}

async function secretsIn(context: PartsContext, component: string, config: string): Promise<readonly string[]> {
  const { client, machine, session } = context
  const found = await client.get(componentConfig, { name: config })
  const privateKey = async (): Promise<string> => session.sealing.privateKey
  return secretTexts({ client, machine, privateKey }, component, found?.spec.secrets ?? [])
}
