// Reads what a scrape configuration is rendered from: Machines, Nodes, and the port that the cluster declares for its agents.
import { agentConfigText, AGENT_CONFIG_MAP } from '#api/agent-config/agent-config-map.ts'
import { parseConfig } from '#api/agent-config/agent-config.ts'
import { SCRAPE_PORT } from '#api/agent-config/metrics-config.ts'
import { machine } from '#api/kinds/machine.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { listAll } from '#kube/list-all.ts'
import { operatorScrapeConfigText } from './operator-scrape-config.ts'
import { type ScrapeConfigAsked, scrapeConfigText, targetsText } from './scrape-config.ts'
import { type NodeAddresses, scrapeTargets } from './scrape-targets.ts'

export interface ScrapeConfigOptions {
  readonly cluster: string
  readonly form: 'config' | 'targets' | 'operator'
  /** Undefined: as declared in the cluster. */
  readonly port: number | undefined
  readonly nodeExporterPort: number | undefined
  readonly tokenFile: string
}

export interface ScrapeConfigRead {
  /** The cluster declares that its agents let Prometheus in. */
  readonly isOpen: boolean
  readonly text: string
  /** For the person who reads the output. */
  readonly notes: readonly string[]
}

/** Named in full; the others are counted. */
const MOST_NAMED = 5
const CLOSED =
  'agents of this cluster are closed to Prometheus; declare "metrics": { "scrape": true } in agent.json of the fleet'

export async function readScrapeConfig(
  client: Pick<KubeClient, 'get' | 'list'>,
  { cluster, form, port, nodeExporterPort, tokenFile }: ScrapeConfigOptions,
): Promise<ScrapeConfigRead> {
  const [machines, nodes, declared] = await Promise.all([
    listAll(client, machine),
    listAll(client, coreKind<'Node', KubeObject & NodeAddresses>('Node')),
    declaredPort(client),
  ])
  const { targets, left } = scrapeTargets(cluster, machines, nodes)
  const asked = { cluster, targets, agentPort: port ?? declared ?? SCRAPE_PORT, nodeExporterPort, tokenFile }
  const named = left.slice(0, MOST_NAMED).map(({ machine: name, why }) => `machine ${name} is left out: ${why}`)
  const more = left.length - named.length
  return {
    isOpen: declared !== undefined,
    text: formOf(form, asked),
    notes: [
      ...(port === undefined && declared === undefined ? [CLOSED] : []),
      ...named,
      ...(more > 0 ? [`${more} more machines are left out`] : []),
    ],
  }
}

function formOf(form: ScrapeConfigOptions['form'], asked: ScrapeConfigAsked): string {
  if (form === 'operator') return operatorScrapeConfigText(asked.agentPort)
  return form === 'targets' ? targetsText(asked) : scrapeConfigText(asked)
}

/** Hosts may open their port in a file of their own, which only the host reads. */
async function declaredPort(client: Pick<KubeClient, 'get'>): Promise<number | undefined> {
  const { namespace, name } = AGENT_CONFIG_MAP
  const map = await client.get<KubeObject>(coreKind('ConfigMap'), { namespace, name })
  const text = map === undefined ? undefined : agentConfigText(map)
  return text?.kind === 'Text' ? parseConfig(text.text).config.detect.metrics.scrape?.port : undefined
}
