// Host paths and units that no component may take: the agent's own, and units that a host cannot run without. Pure.

/** Where systemd searches for units. */
const UNIT_FOLDERS = [
  '/etc/systemd/system',
  '/run/systemd/system',
  '/usr/local/lib/systemd/system',
  '/usr/lib/systemd/system',
  '/lib/systemd/system',
]
const AGENT_FOLDERS = ['/opt/kubenode', '/etc/kubenode', '/var/lib/kubenode']

const AGENT = 'the KubeNode agent'
const SYSTEMD = 'systemd'

/** A file with this name would replace a unit of the agent, or one that it writes for a component. */
const UNIT_FILE_OF_AGENT = /^kubenode(?:-[^/]*)?\.[a-z]+$/
const UNIT_OF_AGENT = /^kubenode(?:-agent)?\.[a-z]+$/
/** systemd's own units, its message bus and the boot targets. Drop-ins for them are configuration. */
const VITAL =
  /^(?:dbus(?:-broker|-org\.[^/]*)?\.(?:service|socket)|(?:systemd-|initrd-)[^/]*|init\.scope|(?:basic|sysinit|local-fs|remote-fs|multi-user|graphical|default|emergency|rescue|shutdown|reboot|poweroff|network|network-online|sockets|timers|paths|slices)\.target|(?:emergency|rescue|getty@|serial-getty@|user@)\.service)$/
const UNIT_TYPE = /\.(?:service|socket|timer|target|mount|path|slice|scope)$/

/** The path's owner; undefined if a component may take it. */
export function ownerOfPath(declared: string): string | undefined {
  const path = declared.replace(/\/+/g, '/').replace(/(?<=.)\/$/, '')
  const isInOrAbove = (folder: string): boolean => isBelow(path, folder) || isBelow(folder, path)
  if (AGENT_FOLDERS.some(isInOrAbove)) return AGENT
  if (UNIT_FOLDERS.some((folder) => isBelow(folder, path))) return SYSTEMD
  const folder = UNIT_FOLDERS.find((f) => isBelow(path, f))
  return folder === undefined ? undefined : ownerOfUnitFile(path.slice(folder.length + 1).split('/'))
}

/** The path is the folder itself or inside it. */
const isBelow = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === '/' ? folder : `${folder}/`)

function ownerOfUnitFile([first = '', second]: readonly string[]): string | undefined {
  const unit = first.replace(/\.d$/, '')
  if (UNIT_FILE_OF_AGENT.test(unit)) return AGENT
  // A link in `multi-user.target.wants` decides whether the agent starts.
  if (second !== undefined) return UNIT_OF_AGENT.test(second) ? AGENT : undefined
  return VITAL.test(first) ? SYSTEMD : undefined
}

/** The owner of a component's unit; the suffix may be left out. */
export function ownerOfUnit(name: string): string | undefined {
  const unit = UNIT_TYPE.test(name) ? name : `${name}.service`
  if (UNIT_OF_AGENT.test(unit)) return AGENT
  return VITAL.test(unit) ? SYSTEMD : undefined
}

/** Fields of a MachineComponent that name host paths and units. */
interface Places {
  readonly component: string
  readonly install?: {
    readonly binaries?: readonly { readonly path: string }[]
    readonly unpack?: { readonly path: string }
  }
  readonly files?: readonly { readonly path: string }[]
  readonly service?: { readonly unit?: string }
}

export interface Taken {
  /** Below the spec. */
  readonly pointer: string
  readonly name: string
  readonly owner: string
}

/** What the component would take from the agent or systemd, in field order. */
export function takenFromHost({ component, install, files = [], service }: Places): readonly Taken[] {
  const paths = [
    ...(install?.binaries ?? []).map(({ path }, n) => ({ pointer: `install/binaries/${n}/path`, name: path })),
    ...(install?.unpack === undefined ? [] : [{ pointer: 'install/unpack/path', name: install.unpack.path }]),
    ...files.map(({ path }, n) => ({ pointer: `files/${n}/path`, name: path })),
  ]
  // Without a name the agent generates one, and only that of a component named `agent` is reserved.
  const unit = service === undefined ? undefined : (service.unit ?? `kubenode-${component}.service`)
  return [
    ...paths.map((p) => ({ ...p, owner: ownerOfPath(p.name) })),
    ...(unit === undefined ? [] : [{ pointer: 'service/unit', name: unit, owner: ownerOfUnit(unit) }]),
  ].flatMap(({ owner, ...place }) => (owner === undefined ? [] : [{ ...place, owner }]))
}
