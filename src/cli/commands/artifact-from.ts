// `kubenode artifact from-deb | from-tar | from-image`: makes a MachineComponent from what a user downloaded.
import { Option, type Command } from 'commander'
import { COMPONENT_NAME_PATTERN } from '#lib/names.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { artifactErrors } from '#artifacts/authoring/artifact-errors.ts'
import type { Io } from '#lib/terminal/io.ts'
import { outputOption } from '../output.ts'
import type { SourceKind } from '#artifacts/authoring/from/source.ts'

interface Flags {
  readonly recipe?: string
  readonly component?: string
  /** `--version` is the program's. */
  readonly as?: string
  readonly arch?: string
  readonly take: readonly string[]
  readonly leave: readonly string[]
  readonly file: readonly string[]
  readonly unit?: string
  readonly exec?: string
  readonly requires: readonly string[]
  readonly statements: string
  readonly artifacts: string
  readonly url?: string
  readonly key?: string
  readonly dryRun?: true
  readonly output?: 'json' | 'yaml'
}

async function make(kind: SourceKind, path: string, flags: Flags, io: Io): Promise<void> {
  const [{ makeComponent, withScratch }, { report, nextSteps }, { RECIPES }, { resolve }, { readText }] =
    await Promise.all([
      import('#artifacts/authoring/from/make-component.ts'),
      import('#artifacts/authoring/from/report.ts'),
      import('#artifacts/authoring/from/recipes.ts'),
      import('node:path'),
      import('#artifacts/authoring/statement-file.ts'),
    ])
  const at = (p: string): string => resolve(io.cwd, p)
  const recipe = RECIPES.find(({ name }) => name === flags.recipe)
  await withScratch(async (scratch) => {
    const source = await sourceOf(kind, at(path), flags.arch, scratch)
    const options = {
      wishes: {
        recipe,
        takes: flags.take.map((text) => takeOf(text)),
        leaves: flags.leave.map((p) => absolute('--leave', p)),
        files: flags.file.map((text) => {
          const [from, to] = pairOf('--file', text)
          return { to: absolute('--file', to), text: readText(at(from), 'file') }
        }),
        unit: flags.unit,
        exec: flags.exec === undefined ? undefined : execOf(flags.exec),
      },
      component: flags.component === undefined ? undefined : nameOf(flags.component),
      version: flags.as,
      arch: flags.arch,
      requires: flags.requires.map((text) => {
        const [component, range] = pairOf('--requires', text)
        return { component, range }
      }),
      statements: flags.statements,
      artifacts: flags.artifacts,
      url: flags.url,
      key: flags.key === undefined ? undefined : at(flags.key),
      isDryRun: flags.dryRun === true,
    }
    const made = await makeComponent(source, options, scratch)
    const told = { source, made, recipe, isDryRun: options.isDryRun }
    if (flags.output === 'json') io.out(`${JSON.stringify(made.statement, null, 2)}\n`)
    else if (flags.output === 'yaml') io.out((await import('yaml')).stringify(made.statement))
    else report(io, told)
    for (const line of nextSteps(told)) io.err(`${line}\n`)
  })
}

async function sourceOf(kind: SourceKind, path: string, arch: string | undefined, scratch: string) {
  if (kind === 'deb') return (await import('#artifacts/authoring/from/deb-source.ts')).debSource(path)
  if (kind === 'tar') return (await import('#artifacts/authoring/from/tar-source.ts')).tarSource(path)
  return (await import('#artifacts/authoring/from/image-source.ts')).imageSource(path, { arch, scratch })
}

const wrong = (option: string, text: string, form: string): KubeNodeError =>
  new KubeNodeError(artifactErrors.KN1136({ option, text: JSON.stringify(text), form }))

/** Here, so that the mistake is named and not the object that would have been made. */
function nameOf(text: string): string {
  if (!new RegExp(COMPONENT_NAME_PATTERN).test(text))
    throw wrong('--component', text, 'lower-case letters, digits and "-", starting with a letter, such as lamp')
  return text
}

function pairOf(option: string, text: string): readonly [string, string] {
  const at = text.indexOf('=')
  if (at <= 0 || at === text.length - 1)
    throw wrong(
      option,
      text,
      option === '--requires' ? 'COMPONENT=RANGE, such as runc=">=1.1 <2"' : 'FILE=/PATH/ON/HOSTS',
    )
  return [text.slice(0, at), text.slice(at + 1)]
}

function takeOf(text: string): { readonly from: string; readonly to: string | undefined } {
  if (!text.includes('=')) return { from: text, to: undefined }
  const at = text.lastIndexOf('=')
  return { from: text.slice(0, at), to: absolute('--take', text.slice(at + 1)) }
}

function absolute(option: string, path: string): string {
  const isPlain =
    path.startsWith('/') &&
    !path
      .split('/')
      .slice(1)
      .some((p) => p === '' || p === '.' || p === '..')
  if (!isPlain) throw wrong(option, path, 'an absolute path on hosts, such as /usr/bin/kubelet')
  return path
}

/** Words without quotes: what needs a shell is a script. */
function execOf(text: string): readonly [string, ...string[]] {
  const [program = '', ...args] = text.trim().split(/\s+/)
  if (/["'\\$`;&|<>]/.test(text))
    throw wrong('--exec', text, 'a program and its arguments without quotes and other signs of a shell, or a script')
  return [absolute('--exec', program), ...args]
}

const collect = (value: string, all: readonly string[]): readonly string[] => [...all, value]

const KINDS: readonly (readonly [SourceKind, string, string])[] = [
  ['deb', 'make a component from a Debian package; its maintainer scripts are never run', 'the .deb file'],
  [
    'tar',
    'make a component from a release archive, or from one program as it was downloaded',
    '.tar, .tar.gz, .tar.xz, .tar.zst, or a program',
  ],
  ['image', 'make a component from programs in a container image', 'OCI layout: a folder, or an archive of one'],
]

export function registerFrom(artifact: Command, io: Io, recipes: readonly string[]): void {
  for (const [kind, description, what] of KINDS)
    artifact
      .command(`from-${kind}`)
      .description(description)
      .argument('<file>', what)
      .addOption(
        new Option('--recipe <name>', 'what is right for a well-known component: unit, probes, drain rule').choices(
          recipes,
        ),
      )
      .option('--component <name>', 'name of the component; that of the recipe or the package when left out')
      .option('--as <version>', 'version; that of the package or in the file name when left out')
      .option('--arch <arch>', 'processor architecture; that of its programs when left out')
      .option(
        '--take <path[=target]>',
        'a file in it, and its path on hosts; repeat it. Others are left out',
        collect,
        [],
      )
      .option('--leave <target>', 'a path on hosts that is not to be installed, or a folder; repeat it', collect, [])
      .option('--file <file=target>', 'a file of yours for hosts, in place of the one in it; repeat it', collect, [])
      .option('--unit <name>', 'its service when it has several, or none')
      .option(
        '--exec <command>',
        'without a unit: the program that runs as its service, by its path on hosts, and arguments',
      )
      .option('--requires <component=range>', 'a component that must be on the machine first; repeat it', collect, [])
      .option('--statements <dir>', 'folder for the MachineComponent (JSON)', 'fleet/components')
      .option('--artifacts <dir>', 'folder for the archive that agents download', 'artifacts')
      .option('--url <url>', 'where agents find the archive: absolute, or below their artifact base')
      .option('--key <file>', 'private key (PEM) that signs it')
      .option('--dry-run', 'show what would be made and write nothing')
      .addOption(outputOption(['json', 'yaml']))
      .action((path: string, flags: Flags) => make(kind, path, flags, io))
}
