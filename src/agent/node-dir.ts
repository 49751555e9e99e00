// Where one node's files are: the only place that builds paths below the node's folder.
import { join } from 'node:path'
import { HOST_CONFIG_NAME } from '#api/agent-config/git-limits.ts'
import { climbs } from '#api/agent-config/node-paths.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { agentErrors } from './agent-errors.ts'

export interface NodeDir {
  readonly path: string
  /** Base of component paths: `/opt/x` on the node is `root/opt/x` here. "/" on a real host. */
  readonly root: string
  readonly state: string
  readonly logs: string
}

/** A node that is a whole host has its root at `/`; a node that is a folder has its root inside that folder. */
export const nodeDir = (path: string, root = join(path, 'root')): NodeDir => ({
  path,
  root,
  state: join(path, 'state'),
  logs: join(path, 'logs'),
})

export const joinFile = (d: NodeDir): string => join(d.path, 'join.json')
export const configFile = (d: NodeDir): string => join(d.path, 'agent.json')
/** The host administrator's settings for the agent; providers never write this file. */
export const hostConfigFile = (d: NodeDir): string => join(d.path, HOST_CONFIG_NAME)
/** The newest agent.json that was accepted. */
export const goodConfigFile = (d: NodeDir): string => join(d.state, 'last-good-agent.json')
/** A trust document that root on this host provides instead of the one in force, for example after its keys were lost. */
export const trustFromHostFile = (d: NodeDir): string => join(d.path, 'trust-from-host.json')
export const bootIdFile = (d: NodeDir): string => join(d.path, 'boot-id')
/** A provider that finds this file restarts the node with a new boot id. */
export const rebootRequestFile = (d: NodeDir): string => join(d.path, 'reboot-requested')
/** While this file exists, the agent disrupts nothing on the node. Works without the API server. */
export const frozenFile = (d: NodeDir): string => join(d.path, 'frozen')

/** The order to leave, after it was received. */
export const leavingFile = (d: NodeDir): string => join(d.state, 'leaving.json')
/** A user on this host requests that the agent leave; read when the agent starts. */
export const leaveRequestFile = (d: NodeDir): string => join(d.path, 'leave.json')

export const identityFile = (d: NodeDir): string => join(d.state, 'identity', 'identity.json')
export const keyFile = (d: NodeDir): string => join(d.state, 'identity', 'agent.key')
/** The boot in which the agent last started beside no other host. */
export const lastBootFile = (d: NodeDir): string => join(d.state, 'identity', 'boot')
/** Private key and certificate, so that one rename changes both: readable only by the agent. */
/** Key and token of an agent that is a service account. */
export const tokenFile = (d: NodeDir): string => join(d.state, 'identity', 'agent-token.json')
export const pairFile = (d: NodeDir): string => join(d.state, 'identity', 'agent.pem')
/** Certificate and key of the port for Prometheus, where the host names none. */
export const scrapeKeyFile = (d: NodeDir): string => join(d.state, 'scrape-tls.json')
export const trustFile = (d: NodeDir): string => join(d.state, 'trust.json')
/** The document from the join bundle; a candidate like a fetched one. */
export const firstTrustFile = (d: NodeDir): string => join(d.state, 'trust-at-join.json')
export const machineFile = (d: NodeDir): string => join(d.state, 'machine.json')
export const problemsFile = (d: NodeDir): string => join(d.state, 'problems.json')
/** The read position of each monitored log. */
export const positionsFile = (d: NodeDir): string => join(d.state, 'monitor-positions.json')
export const cursorsFile = (d: NodeDir): string => join(d.state, 'log-cursors.json')

export const artifactsFolder = (d: NodeDir): string => join(d.state, 'artifacts')
export const artifactFile = (d: NodeDir, sha256: string): string => join(artifactsFolder(d), sha256)

/** The unit that starts the agent, as the agent last saw it on its host. */
export const agentUnitFile = (d: NodeDir): string => join(d.state, 'agent-unit.json')

/** The kernel packages that components brought to this host. */
export const kernelsFile = (d: NodeDir): string => join(d.state, 'kernels.json')

export const componentsFolder = (d: NodeDir): string => join(d.state, 'components')
export const componentFolder = (d: NodeDir, component: string): string => join(componentsFolder(d), component)
/** Folders that are being removed; nothing in here is in use. */
export const trashFolder = (d: NodeDir): string => join(d.state, 'trash')
export const recordFile = (d: NodeDir, component: string): string => join(componentFolder(d, component), 'record.json')
export const processFile = (d: NodeDir, component: string): string =>
  join(componentFolder(d, component), 'process.json')
/** Processes of a hook that were killed and did not end. */
export const hungHookFile = (d: NodeDir, component: string): string =>
  join(componentFolder(d, component), 'hung-hook.json')
/** Exists when the agent has enabled a component's unit that another program installed. */
export const enabledFile = (d: NodeDir, component: string): string =>
  join(componentFolder(d, component), 'enabled.json')
export const slotsFolder = (d: NodeDir, component: string): string => join(componentFolder(d, component), 'slots')
export const slotFolder = (d: NodeDir, component: string, slot: string): string => join(slotsFolder(d, component), slot)
/** The one symbolic link whose change is the switch. */
export const currentLink = (d: NodeDir, component: string): string => join(componentFolder(d, component), 'current')

/** Foreign files found in place of a component's own. */
export const allForeignFolder = (d: NodeDir): string => join(d.state, 'foreign')
export const foreignFolder = (d: NodeDir, component: string): string => join(allForeignFolder(d), component)

/** What was on the node before components were adopted, one folder each. */
export const originalsFolder = (d: NodeDir): string => join(d.state, 'kept')
export const keptFolder = (d: NodeDir, component: string): string => join(originalsFolder(d), component)
/** Originals that were not restored before the agent left. They belong to no agent, so nothing removes them. */
export const savedFolder = (component: string): string => `/var/backups/kubenode/${component}`
export const keptFile = (d: NodeDir, component: string): string => join(keptFolder(d, component), 'kept.json')

const jobsFolder = (d: NodeDir): string => join(d.state, 'jobs')
export const jobFile = (d: NodeDir, uid: string): string => join(jobsFolder(d), `${uid}.json`)
export const acceptanceFile = (d: NodeDir): string => join(d.state, 'acceptance.json')
/** Scripts of an acceptance have their own folder: a repair may run one at the same time. */
export const acceptanceDir = (d: NodeDir): NodeDir => ({ ...d, state: join(d.state, 'acceptance') })
export const evidenceFolder = (d: NodeDir, job: string): string => join(d.state, 'evidence', job)

/** A component's path, as it is on this machine. */
export function onNode(d: NodeDir, path: string): string {
  // Callers have checked the path; this check keeps an unchecked one inside the node's folder.
  if (climbs(path)) throw new KubeNodeError(agentErrors.KN8021_host({ path }))
  return join(d.root, path)
}
