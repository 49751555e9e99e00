// Decides which files of a download a component installs and where, with its unit, hooks and probes, and what it leaves out and why. Pure.
import { basename } from 'node:path'
import { readTemplate, type TemplateFormat } from '#api/templates/placeholders.ts'
import type { MachineComponentInput } from '#api/kinds/machine-component.ts'
import type { TreeEntry, TreeFile } from './file-tree.ts'
import type { Recipe } from './recipes.ts'
import { MAX_TEXT_BYTES, type Source } from './source.ts'
import { changedUnit, unitFacts, type UnitFacts } from './unit-text.ts'
import { withoutEnd } from '#lib/without-ends.ts'

type Spec = MachineComponentInput['spec']
type SpecFile = NonNullable<Spec['files']>[number]

interface Placed {
  readonly file: TreeFile
  /** Absolute path on hosts. */
  readonly to: string
  readonly mode: string
}

interface Left {
  readonly what: string
  readonly why: string
}

export interface ComponentChoices {
  readonly recipe: Recipe | undefined
  /** Paths in the download, each with its path on hosts. */
  readonly takes: readonly { readonly from: string; readonly to: string | undefined }[]
  readonly leaves: readonly string[]
  /** User files that replace files of the download. */
  readonly files: readonly { readonly to: string; readonly text: string }[]
  /** The service, if there are several. */
  readonly unit: string | undefined
  /** The command for a download without units: a path on hosts and its arguments. */
  readonly exec: readonly [program: string, ...args: string[]] | undefined
}

export interface Choice {
  readonly programs: readonly Placed[]
  readonly files: readonly SpecFile[]
  readonly service: Spec['service'] | undefined
  readonly hooks: Spec['hooks'] | undefined
  readonly left: readonly Left[]
}

export type Chosen = { readonly ok: true; readonly choice: Choice } | { readonly ok: false; readonly problem: string }

const UNITS = '/etc/systemd/system'
/** Programs listed in an error. */
const MAX_NAMED = 5
const UNIT_FOLDER = /^\/(?:usr\/)?lib\/systemd\/system\//
const UNIT_TYPE = /\.(?:service|socket|timer|path|target|mount|slice)$/
/** Package files for people, shells and other programs of the distribution. */
const UNUSED =
  /^\/usr\/share\/(?:doc|man|info|locale|lintian|bash-completion|zsh|fish|bug|doc-base|metainfo|applications|menu)\//
const OF_DISTRIBUTION: readonly (readonly [RegExp, string])[] = [
  [/^\/etc\/init\.d\//, 'systemd runs the service'],
  [/^\/etc\/apparmor\.d\//, 'its profile is loaded by a maintainer script; load it yourself'],
  [/^\/etc\/(?:cron\.[a-z]+|rc\d\.d)\//, 'only its unit runs it'],
  [/^\/(?:usr\/)?lib\/systemd\/system-(?:generators|sleep|shutdown|preset)\//, 'it changes systemd itself'],
]
const EMPTY = 'it is an empty folder; if the service needs it, let its unit make it, as with StateDirectory='
const PROGRAM_FOLDERS = /^(?:\/usr)?(?:\/local)?\/s?bin\/|^\/usr\/lib(?:exec)?\/|^\/opt\//

interface Found {
  readonly programs: Map<string, Placed>
  readonly texts: Map<string, { readonly text: string; readonly mode: number }>
  readonly left: Left[]
}

export function chosenFrom(source: Source, choices: ComponentChoices): Chosen {
  const found: Found = { programs: new Map(), texts: new Map(), left: [] }
  if (source.kind === 'deb' && choices.takes.length === 0) takePackage(source, choices, found)
  else if (choices.takes.length === 0) takePrograms(source, choices, found)
  for (const { from, to } of choices.takes) {
    const file = source.tree.file(from)
    if (file === undefined) return { ok: false, problem: `it has no file ${from}` }
    take(found, file, to ?? `/${from.replace(/^\/+/, '')}`)
  }
  for (const { to, text } of choices.files) found.texts.set(to, { text, mode: 0o644 })
  const unit = takeUnit(choices, found)
  if (!unit.ok) return unit
  // A host with an existing unit keeps it; the service is the same.
  const facts = unit.name === undefined ? undefined : unitFacts(found.texts.get(`${UNITS}/${unit.name}`)?.text ?? '')
  for (const path of choices.leaves)
    if (!dropBelow(found, path)) return { ok: false, problem: `it would not install ${path}` }
  if (found.programs.size === 0) return { ok: false, problem: missing(source, choices) }
  const [program] = choices.exec ?? []
  if (program !== undefined && unit.name !== undefined)
    return { ok: false, problem: `its service is ${unit.name}: leave out --exec, or the unit with --unit none` }
  if (program !== undefined && !found.programs.has(program))
    return {
      ok: false,
      problem: `--exec names ${program}, and it installs ${[...found.programs.keys()].slice(0, MAX_NAMED).join(', ')}`,
    }
  for (const script of source.facts.scripts ?? [])
    found.left.push({ what: script, why: 'maintainer scripts are never run; read what they do' })
  return { ok: true, choice: choiceOf(found, { unit: unit.name, facts, exec: choices.exec }, choices.recipe) }
}

/** Paths where programs are searched. Without the executable bit a file is data, as for a shell. */
const notExecutable = ({ kind, tree }: Source): string | undefined =>
  kind === 'image'
    ? undefined
    : tree.entries().find((e) => e.kind === 'File' && !isExecutable(e) && /^(?:[^/]+\/)?s?bin\/[^/]+$/.test(e.path))
        ?.path

const missing = (source: Source, { recipe, takes }: ComponentChoices): string => {
  const { kind } = source
  const plain = recipe === undefined && takes.length === 0 ? notExecutable(source) : undefined
  if (plain !== undefined) return `${plain} in it is not executable; run chmod 755 on it and pack it again`
  return missingProgram(kind, { recipe, takes })
}

const missingProgram = (kind: Source['kind'], { recipe, takes }: Pick<ComponentChoices, 'recipe' | 'takes'>): string =>
  recipe !== undefined && takes.length === 0
    ? `the recipe ${recipe.name} finds none of its programs in it; name them with --take PATH=TARGET`
    : kind === 'image'
      ? 'name the programs in it with --take PATH=TARGET, or a --recipe'
      : 'it has no program to install; name files with --take PATH=TARGET'

function take({ programs, texts, left }: Found, file: TreeFile, to: string): void {
  if ((file.mode & 0o7000) !== 0)
    left.push({ what: to, why: `its set-id or sticky bit (${file.mode.toString(8)}) is not kept` })
  const text = isExecutable(file) ? undefined : decoded(file, to)
  if (text === undefined) programs.set(to, { file, to, mode: isExecutable(file) ? '0755' : modeOf(file.mode) })
  else texts.set(to, { text, mode: file.mode })
}

const isExecutable = ({ mode }: TreeFile): boolean => (mode & 0o111) !== 0
const modeOf = (mode: number): string => `0${(mode & 0o777).toString(8).padStart(3, '0')}`

/** Undefined for content that no template can hold: it goes into the archive unchanged. */
function decoded({ content }: TreeFile, path: string): string | undefined {
  if (content === undefined || content.length > MAX_TEXT_BYTES) return undefined
  const text = content.toString('utf8')
  if (!Buffer.from(text).equals(content) || text.includes('\0')) return undefined
  const read = readTemplate(text, formatOf(path))
  return read.ok && read.template.paths.length === 0 ? text : undefined
}

const FORMATS: readonly (readonly [RegExp, TemplateFormat])[] = [
  [/\.toml$/, 'toml'],
  [/\.ya?ml$/, 'yaml'],
  [/\.json$/, 'json'],
  [UNIT_TYPE, 'ini'],
  [/^\/etc\/(?:default|sysconfig)\//, 'shell'],
]
const formatOf = (path: string): TemplateFormat => FORMATS.find(([is]) => is.test(path))?.[1] ?? 'plain'

function takePackage(source: Source, { recipe }: ComponentChoices, found: Found): void {
  const conffiles = new Set(source.facts.conffiles)
  for (const entry of source.tree.entries()) {
    const path = `/${entry.path}`
    const why = reasonToLeave(path, entry, recipe)
    const copy = recipe?.copies?.[path]
    const file = entry.kind === 'Other' ? undefined : source.tree.file(entry.path)
    if (why === '') continue
    if (why !== undefined) found.left.push({ what: path, why })
    else if (file === undefined) found.left.push({ what: path, why: 'it is no regular file' })
    else if (copy !== undefined) take(found, file, copy)
    else if (UNIT_FOLDER.test(path) && UNIT_TYPE.test(path) && entry.kind === 'File')
      take(found, file, path.replace(UNIT_FOLDER, `${UNITS}/`))
    else if (conffiles.has(path) || path.startsWith('/etc/')) take(found, file, path)
    else if (PROGRAM_FOLDERS.test(path)) take(found, file, path)
    else found.left.push({ what: path, why: 'it is no program, unit or configuration' })
  }
  for (const folder of source.tree.emptyFolders())
    if (!UNUSED.test(`/${folder}/`)) found.left.push({ what: `/${folder}/`, why: EMPTY })
}

/** An empty reason: no node needs the file, and it is not reported. */
function reasonToLeave(path: string, { kind }: TreeEntry, recipe: Recipe | undefined): string | undefined {
  if (UNUSED.test(path)) return ''
  if (recipe?.leaves?.test(path) === true) return `the recipe ${recipe.name} does without it`
  const [, why] = OF_DISTRIBUTION.find(([is]) => is.test(path)) ?? []
  if (why !== undefined) return why
  return kind === 'Link' && UNIT_FOLDER.test(path) ? 'systemd makes it when it enables the unit' : undefined
}

/** Archives and images do not define install paths: programs are found by name, or all are taken from program folders. */
function takePrograms(source: Source, { recipe }: ComponentChoices, found: Found): void {
  const files = source.tree.entries().flatMap((e) => (e.kind === 'File' && isExecutable(e) ? [e] : []))
  const isAsked = (file: TreeFile): boolean => {
    const name = basename(file.path)
    return recipe === undefined ? isInProgramFolder(file.path) : recipe.programs.some((p) => p.test(name))
  }
  for (const file of files) {
    if (!isAsked(file)) continue
    const name = basename(file.path)
    const to = `${recipe?.folder ?? '/usr/local/bin'}/${recipe?.renamed?.[name] ?? name}`
    // The first in path order: some images contain duplicates.
    if (!found.programs.has(to)) take(found, file, to)
  }
  if (recipe === undefined || source.kind === 'image') return
  for (const e of source.tree.entries())
    if (e.kind === 'File' && recipe.unit !== undefined && basename(e.path) === recipe.unit.name)
      take(found, e, `${UNITS}/${recipe.unit.name}`)
}

/** In a release archive: at the top level, or in its program folder. */
const isInProgramFolder = (path: string): boolean => /^(?:[^/]+\/)?(?:s?bin\/)?[^/]+$/.test(path)

type UnitChoice =
  | { readonly ok: true; readonly name: string | undefined }
  | { readonly ok: false; readonly problem: string }

function takeUnit({ recipe, unit: asked }: ComponentChoices, { texts, left }: Found): UnitChoice {
  const own = recipe?.unit
  if (own !== undefined) {
    const path = `${UNITS}/${own.name}`
    const before = texts.get(path)?.text
    texts.set(path, { text: changedUnit(before ?? own.text, own.without, own.service ?? []), mode: 0o644 })
    for (const line of (before ?? '').split('\n'))
      if (own.without?.test(line) === true)
        left.push({ what: `${own.name}: ${line}`, why: `the recipe ${recipe?.name} does without it` })
    return { ok: true, name: own.name }
  }
  const services = [...texts.keys()]
    .filter((p) => p.startsWith(`${UNITS}/`) && /[^@]\.service$/.test(p))
    .map((p) => basename(p))
  if (asked !== undefined)
    return services.includes(asked) || asked === 'none'
      ? { ok: true, name: asked === 'none' ? undefined : asked }
      : { ok: false, problem: `it has no unit ${asked}; its services: ${services.join(', ') || 'none'}` }
  return services.length > 1
    ? {
        ok: false,
        problem: `it has ${services.length} services (${services.join(', ')}): name the one of this component with --unit, or none`,
      }
    : { ok: true, name: services[0] }
}

function dropBelow({ programs, texts }: Found, path: string): boolean {
  const bare = withoutEnd(path, /\//)
  const hit = [...programs.keys(), ...texts.keys()].filter((p) => p === bare || p.startsWith(`${bare}/`))
  for (const p of hit) {
    programs.delete(p)
    texts.delete(p)
  }
  return hit.length > 0
}

function choiceOf(
  { programs, texts, left }: Found,
  { unit, facts, exec }: Pick<ComponentChoices, 'unit' | 'exec'> & { readonly facts: UnitFacts | undefined },
  recipe: Recipe | undefined,
): Choice {
  const yielding = recipe?.unit?.existing === 'Leave' ? `${UNITS}/${recipe.unit.name}` : undefined
  const files = [...texts].map(([path, { text, mode }]): SpecFile => ({
    path,
    mode: modeOf(mode),
    format: formatOf(path),
    template: text,
    // Without a service there is nothing to restart.
    onChange: unit === undefined && exec === undefined ? 'None' : 'Restart',
    ...(path === yielding && { existing: 'Leave' as const }),
  }))
  const users = [...new Set([...(facts?.users ?? []), ...(recipe?.users ?? [])])].filter((u) =>
    /^[a-z_][a-z0-9_-]*$/.test(u),
  )
  return {
    programs: [...programs.values()].toSorted((a, b) => (a.to < b.to ? -1 : 1)),
    files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    service: serviceOf(unit, facts, exec),
    // Does nothing if the account exists.
    hooks:
      users.length === 0
        ? undefined
        : { preInstall: { command: ['/usr/bin/systemd-sysusers', '--inline', ...users.map((u) => `u ${u} -`)] } },
    left,
  }
}

function serviceOf(
  unit: string | undefined,
  facts: UnitFacts | undefined,
  exec: ComponentChoices['exec'],
): Spec['service'] {
  if (unit !== undefined && facts !== undefined) return { unit, restart: facts.restart, killMode: facts.killMode }
  const [program, ...args] = exec ?? []
  // Hosts with systemd get a unit for it; others run it below the agent.
  return program === undefined ? undefined : { exec: program, ...(args.length > 0 && { args }), restart: 'Always' }
}
