// Builds a component from command line options, and reports the result and the next steps.
import { resolve } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { COMPONENT_NAME_PATTERN } from '#lib/names.ts'
import type { Io } from '#lib/terminal/io.ts'
import { artifactErrors } from '../artifact-errors.ts'
import { readText } from '../statement-file.ts'
import { makeComponent, withScratch } from './make-component.ts'
import { RECIPES } from './recipes.ts'
import { nextSteps, report } from './report.ts'
import type { SourceKind } from './source.ts'

export interface FromFlags {
  readonly recipe?: string
  readonly component?: string
  /** Not `--version`, which is the program's own option. */
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

export async function makeFrom(kind: SourceKind, path: string, flags: FromFlags, io: Io): Promise<void> {
  const at = (p: string): string => resolve(io.cwd, p)
  const recipe = RECIPES.find(({ name }) => name === flags.recipe)
  await withScratch(async (scratch) => {
    const source = await sourceOf(kind, at(path), flags.arch, scratch)
    const options = {
      choices: {
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
      component: flags.component === undefined ? undefined : componentNameOf(flags.component),
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
    const outcome = { source, made, recipe, isDryRun: options.isDryRun }
    if (flags.output === 'json') io.out(`${JSON.stringify(made.statement, null, 2)}\n`)
    else if (flags.output === 'yaml') io.out((await import('yaml')).stringify(made.statement))
    else report(io, outcome)
    for (const line of nextSteps(outcome)) io.err(`${line}\n`)
  })
}

async function sourceOf(kind: SourceKind, path: string, arch: string | undefined, scratch: string) {
  if (kind === 'deb') return (await import('./deb-source.ts')).debSource(path)
  if (kind === 'tar') return (await import('./tar-source.ts')).tarSource(path)
  return (await import('./image-source.ts')).imageSource(path, { arch, scratch })
}

const wrong = (option: string, text: string, form: string): KubeNodeError =>
  new KubeNodeError(artifactErrors.KN1002_form({ option, text: JSON.stringify(text), form }))

/** Checked here, so that the error names the option instead of the resulting object. */
function componentNameOf(text: string): string {
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

/** Splits at spaces, without quotes: commands that need a shell belong in a script. */
function execOf(text: string): readonly [string, ...string[]] {
  const [program = '', ...args] = text.trim().split(/\s+/)
  if (/["'\\$`;&|<>]/.test(text))
    throw wrong('--exec', text, 'a program and its arguments without quotes and other signs of a shell, or a script')
  return [absolute('--exec', program), ...args]
}
