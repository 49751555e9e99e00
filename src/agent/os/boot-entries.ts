// The entries of boot loaders as texts: what each boots, and how one of our own is made from one of the distribution. Pure.

export interface BootEntry {
  readonly id: string
  /** The release of its kernel; undefined: it boots no Linux. */
  readonly kernel: string | undefined
  readonly arguments: readonly string[]
  /** As the boot loader reads it. */
  readonly text: string
}

/** What an own entry boots: another entry's kernel with more arguments. */
export interface OwnEntry {
  readonly id: string
  /** For people who see the menu. */
  readonly title: string
  readonly from: BootEntry
  readonly arguments: readonly string[]
}

const OWN = /^kubenode-[0-9a-f]{16}-\d{1,6}$/
export const ownEntryId = (slot: string): string => `kubenode-${slot}`
export const isOwn = ({ id }: Pick<BootEntry, 'id'>): boolean => OWN.test(id)

/** Boots into a shell instead of the services, among them the agent. */
export const isRecovery = ({ id, arguments: all }: BootEntry): boolean =>
  /(^|-)(recovery|rescue)(-|$)/.test(id.split('>').at(-1) ?? '') ||
  all.some((a) => a === 'single' || a === '1' || a === 'emergency' || /^systemd\.unit=(rescue|emergency)\./.test(a))

/** The argument by which a kernel that runs tells the version that it was booted for. No kernel or program reads it. */
export const BOOT_MARK = 'kubenode.boot='
export const slotIn = (all: readonly string[]): string | undefined =>
  all.findLast((a) => a.startsWith(BOOT_MARK))?.slice(BOOT_MARK.length)

export const argumentsOf = (line: string): readonly string[] => line.match(/(?:[^\s"]|"[^"]*"?)+/g) ?? []

/** Boot loaders add these by themselves. */
const OF_LOADER = /^(BOOT_IMAGE|initrd)=/
export const sameArguments = (a: readonly string[], b: readonly string[]): boolean => {
  const [left, right] = [a, b].map((all) => all.filter((x) => !OF_LOADER.test(x)))
  return JSON.stringify(left) === JSON.stringify(right)
}

/** `/boot/vmlinuz-6.1.0-28-amd64`, or `/<machine ID>/6.1.0-28-amd64/linux` of kernel-install. */
function releaseIn(path: string): string | undefined {
  const parts = path.split('/')
  const name = parts.at(-1) ?? ''
  const release = /^(?:vmlinuz|linux|kernel|Image)-(\d.*)$/.exec(name)?.[1]
  return release ?? (name === 'linux' ? parts.at(-2) : undefined)
}

const MENU = /^(\s*)(submenu|menuentry)\s.*?\$menuentry_id_option\s+'([^']{1,256})'/
const LINUX = /^[ \t]{0,64}linux(?:16|efi)?[ \t]{1,64}(\S{1,1024})(.{0,4096})$/m

/** Of grub.cfg. An entry in a submenu is named by the way to it. grub-mkconfig indents what is in a submenu. */
export function menuEntries(config: string): readonly BootEntry[] {
  const found: BootEntry[] = []
  const lines = config.split('\n')
  let submenu: string | undefined
  for (let i = 0; i < lines.length; i++) {
    const [, indent = '', kind, id = ''] = MENU.exec(lines[i] ?? '') ?? []
    if (kind === 'submenu') submenu = id
    else if (kind === 'menuentry') {
      const end = lines.indexOf(`${indent}}`, i)
      const body = lines.slice(i + 1, end === -1 ? i + 1 : end)
      found.push(menuEntry(indent === '' || submenu === undefined ? id : `${submenu}>${id}`, body.join('\n')))
    } else if (lines[i] === '}') submenu = undefined
  }
  return found
}

function menuEntry(id: string, text: string): BootEntry {
  const [, path, rest = ''] = LINUX.exec(text) ?? []
  return { id, kernel: path === undefined ? undefined : releaseIn(path), arguments: argumentsOf(rest), text }
}

const quoted = (text: string): string => text.replaceAll("'", '')

/** An entry for custom.cfg, which grub.cfg reads last. Unrestricted: where the menu has a password, no person is there to type it. */
const ownMenuEntry = ({ id, title, from, arguments: more }: OwnEntry): string => {
  const body = from.text.replace(LINUX, (line) => `${line.trimEnd()} ${more.join(' ')}`.trimEnd())
  return `${BEGIN} ${id}\nmenuentry '${quoted(title)}' --unrestricted $menuentry_id_option '${id}' {\n${body}\n}\n${END}\n`
}

const BEGIN = '### begin'
const END = '### end kubenode'
const OWN_BLOCK = /^### begin (kubenode-\S{1,64})\n[\s\S]*?^### end kubenode\n?/gm

/** The file with this own entry in place of one of its ID, and without those that `drops` names. What others wrote stays. */
export function customMenu(before: string, add: OwnEntry | undefined, drops: (id: string) => boolean): string {
  const kept = before.replaceAll(OWN_BLOCK, (block, id: string) => (id === add?.id || drops(id) ? '' : block))
  const gap = kept === '' || kept.endsWith('\n') ? '' : '\n'
  return add === undefined ? kept : `${kept}${gap}${ownMenuEntry(add)}`
}

/** One file of the Boot Loader Specification. GRUB on Fedora expands variables of its environment block in `options`. */
export function fileEntry(id: string, text: string, variables: ReadonlyMap<string, string> = new Map()): BootEntry {
  const values = (key: string) =>
    text.split('\n').flatMap((line) => {
      const [, name, value = ''] = /^(\S{1,64})[ \t]{1,64}(.{0,4096})$/.exec(line) ?? []
      return name === key ? [value.trim()] : []
    })
  const [linux] = values('linux')
  const options = values('options').join(' ')
  return {
    id,
    kernel: linux === undefined ? undefined : (values('version')[0] ?? releaseIn(linux)),
    arguments: argumentsOf(options.replaceAll(/\$(\w+)/g, (_, name: string) => variables.get(name) ?? '')),
    text,
  }
}

export function ownFile({ title, from, arguments: more }: OwnEntry): string {
  const lines = from.text.split('\n').filter((line) => line.trim() !== '' && !/^(title|id|grub_hotkey)\s/.test(line))
  const options = more.length === 0 ? [] : [`options ${more.join(' ')}`]
  return [`title ${title}`, ...lines, ...options, ''].join('\n')
}
