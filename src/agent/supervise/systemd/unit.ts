// Pure: a component's systemd files: a unit of its own, or a drop-in beside the foreign unit that it declares.
import { KubeNodeError } from '#lib/errors.ts'
import type { Service } from '../port.ts'
import { agentErrors } from '../../agent-errors.ts'
import { componentVariables } from '../../node-variables.ts'

const MADE_FOR = '# Made by KubeNode for '

/** The first line of every file that the agent writes, so that no other file is ever mistaken for one. */
const headOf = (component: string): string =>
  `${MADE_FOR}${component}. Changes are undone; change the component in git.`

/** The owner; undefined when the agent did not create the file. */
export const ownerOf = (text: string): string | undefined =>
  text.startsWith(MADE_FOR) ? text.slice(MADE_FOR.length, text.indexOf('\n')).split('. ')[0] : undefined

/** The same file with another first line: it works without an agent, and no later agent treats it as its own. */
export const disowned = (text: string): string =>
  ownerOf(text) === undefined
    ? text
    : `# Was made by KubeNode for ${ownerOf(text) ?? ''}, and left when the node was handed back.${text.slice(text.indexOf('\n'))}`

const UNIT_TYPE = /\.(service|socket|timer|target|mount|path|slice)$/

/** Unit name of a component that does not set one. */
export const ownUnitName = (component: string): string => `kubenode-${component}.service`

export function unitName(component: string, { unit }: Service): string {
  if (unit === undefined) return ownUnitName(component)
  return UNIT_TYPE.test(unit) ? unit : `${unit}.service`
}

export interface UnitContent {
  readonly component: string
  readonly service: Service
  /** Settings about the node that every component gets. */
  readonly environment: Readonly<Record<string, string>>
}

const RESTART: Readonly<Record<Service['restart'], string>> = { Always: 'always', OnFailure: 'on-failure', Never: 'no' }
const KILL: Readonly<Record<Service['killMode'], string>> = { Process: 'process', Group: 'control-group' }

/** After this many exits in ten minutes systemd leaves the restarts to the agent, whose brake waits longer. */
const BURST = 10

/** A whole unit. `Type=simple`, because older versions of systemd have no other type that does not wait. */
export const unitText = (content: UnitContent): string =>
  lines(
    headOf(content.component),
    '[Unit]',
    `Description=${content.component} of KubeNode`,
    'After=network.target local-fs.target',
    'StartLimitIntervalSec=600',
    `StartLimitBurst=${BURST}`,
    '',
    '[Service]',
    'Type=simple',
    ...execLines(content),
    ...serviceLines(content),
    'RestartSec=1',
    'TimeoutStopSec=15',
    // Shims and containers have control groups below their service's; systemd leaves those alone.
    ...(content.service.killMode === 'Process' ? ['Delegate=yes'] : []),
    '',
    '[Install]',
    'WantedBy=multi-user.target',
  )

/** Undefined: the unit needs no drop-in. The unit's type, start and dependencies stay as they are. */
export function dropInText(content: UnitContent): string | undefined {
  const { exec, env, user } = content.service
  if (exec === undefined && user === undefined && Object.keys(env ?? {}).length === 0) return undefined
  const exact = exec === undefined ? envLines(content.service.env ?? {}) : serviceLines(content)
  return lines(
    headOf(content.component),
    '[Service]',
    ...(exec === undefined ? [] : ['ExecStart=', ...execLines(content)]),
    ...exact,
  )
}

const execLines = ({ service }: UnitContent): readonly string[] =>
  service.exec === undefined ? [] : [`ExecStart=${[service.exec, ...(service.args ?? [])].map(argument).join(' ')}`]

const serviceLines = ({ component, service, environment }: UnitContent): readonly string[] => [
  ...envLines(componentVariables(environment, component, service.env)),
  ...(service.user === undefined ? [] : [`User=${escaped(service.user)}`]),
  `Restart=${RESTART[service.restart]}`,
  `KillMode=${KILL[service.killMode]}`,
]

const envLines = (env: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(env).map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}`)

/** The file as written by older agents, which did not pass the component's name to its process: such a file was not modified. */
export const withoutComponentName = (text: string, component: string): string =>
  text.replace(`${envLines({ KUBENODE_COMPONENT: component })[0] ?? ''}\n`, '')

const lines = (...all: readonly string[]): string => `${all.join('\n')}\n`

/** Escapes a value so that it cannot introduce a specifier, a variable, a second word or a second line. */
const argument = (text: string): string => quoted(text).replaceAll('$', () => '$$')

const quoted = (text: string): string =>
  `"${escaped(text).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')}"`

function escaped(text: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\0-\x08\x0a-\x1f]/.test(text))
    throw new KubeNodeError(agentErrors.KN8021_control({ text: JSON.stringify(text.slice(0, 60)) }))
  return text
}
