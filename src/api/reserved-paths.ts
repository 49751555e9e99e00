// Which paths and units of a host no component may take: those of the agent, and units without which a host does not run. Pure.

/** Where systemd looks for units. */
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

/** A file of this name takes the place of a unit of the agent or of one that the agent writes for a component. */
const UNIT_FILE_OF_AGENT = /^kubenode(?:-[^/]*)?\.[a-z]+$/
const UNIT_OF_AGENT = /^kubenode(?:-agent)?\.[a-z]+$/
/** systemd's own, its message bus and the targets of every start. Drop-ins for them are configuration. */
const VITAL =
  /^(?:dbus(?:-broker|-org\.[^/]*)?\.(?:service|socket)|(?:systemd-|initrd-)[^/]*|init\.scope|(?:basic|sysinit|local-fs|remote-fs|multi-user|graphical|default|emergency|rescue|shutdown|reboot|poweroff|network|network-online|sockets|timers|paths|slices)\.target|(?:emergency|rescue|getty@|serial-getty@|user@)\.service)$/
const UNIT_TYPE = /\.(?:service|socket|timer|target|mount|path|slice|scope)$/

/** Who has the path; undefined when a component may take it. */
export function ownerOfPath(declared: string): string | undefined {
  const path = declared.replace(/\/+/g, '/').replace(/(?<=.)\/$/, '')
  const isInOrAbove = (folder: string): boolean => isBelow(path, folder) || isBelow(folder, path)
  if (AGENT_FOLDERS.some(isInOrAbove)) return AGENT
  if (UNIT_FOLDERS.some((folder) => isBelow(folder, path))) return SYSTEMD
  const folder = UNIT_FOLDERS.find((f) => isBelow(path, f))
  return folder === undefined ? undefined : ownerOfUnitFile(path.slice(folder.length + 1).split('/'))
}

/** The path is the folder, or something in it. */
const isBelow = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === '/' ? folder : `${folder}/`)

function ownerOfUnitFile([first = '', second]: readonly string[]): string | undefined {
  const unit = first.replace(/\.d$/, '')
  if (UNIT_FILE_OF_AGENT.test(unit)) return AGENT
  // A link in `multi-user.target.wants` decides whether the agent starts.
  if (second !== undefined) return UNIT_OF_AGENT.test(second) ? AGENT : undefined
  return VITAL.test(first) ? SYSTEMD : undefined
}

/** Who has the unit that a component runs as; the suffix may be left out. */
export function ownerOfUnit(name: string): string | undefined {
  const unit = UNIT_TYPE.test(name) ? name : `${name}.service`
  if (UNIT_OF_AGENT.test(unit)) return AGENT
  return VITAL.test(unit) ? SYSTEMD : undefined
}

/** The fields of a MachineComponent that name places on a host. */
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

/** What the component would take from the agent or from systemd, in the order of its fields. */
export function takenFromHost({ component, install, files = [], service }: Places): readonly Taken[] {
  const paths = [
    ...(install?.binaries ?? []).map(({ path }, n) => ({ pointer: `install/binaries/${n}/path`, name: path })),
    ...(install?.unpack === undefined ? [] : [{ pointer: 'install/unpack/path', name: install.unpack.path }]),
    ...files.map(({ path }, n) => ({ pointer: `files/${n}/path`, name: path })),
  ]
  // Without a name the agent takes one of its own for it, and only that of a component `agent` is taken.
  const unit = service === undefined ? undefined : (service.unit ?? `kubenode-${component}.service`)
  return [
    ...paths.map((p) => ({ ...p, owner: ownerOfPath(p.name) })),
    ...(unit === undefined ? [] : [{ pointer: 'service/unit', name: unit, owner: ownerOfUnit(unit) }]),
  ].flatMap(({ owner, ...place }) => (owner === undefined ? [] : [{ ...place, owner }]))
}
