// `kubenode lint PATH…`: reports every problem of the objects, rules and kubeconfigs in files and of a fleet before they reach a server.
import type { Command } from 'commander'
import { printableLine, shownJson, shownLine } from '#lib/printable.ts'
import { EXIT_ERROR, Exit } from '#lib/terminal/exit.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { Validator } from '#api/validate.ts'
import type { Finding } from '#forecast/lint/finding.ts'
import type { FleetResult } from '#forecast/lint/fleets.ts'
import { outputOption } from '../../output.ts'
import { withProgress } from '#lib/terminal/progress.ts'
import { weakCageNote, weakCageOption } from '../../weak-cage.ts'

type Form = 'text' | 'json' | 'github'

const count = (n: number, thing: string): string => `${n} ${thing}${n === 1 ? '' : 's'}`

/** One line per finding, whatever characters its names and values contain. */
const asText = (f: Finding): string =>
  shownLine(
    `${f.file}:${f.line}:${f.column}: ${f.isNote === true ? 'note: ' : f.isWarning === true ? 'warning: ' : ''}${f.code}: ${f.object === undefined ? '' : `${f.object}: `}${f.message}`,
  )

/** Annotations on a pull request. Escaping keeps a hostile file name from injecting commands. */
const asGithub = (f: Finding): string => {
  const escape = (s: string) => s.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
  const property = (s: string) => escape(printableLine(s)).replaceAll(':', '%3A').replaceAll(',', '%2C')
  return `::${f.isNote === true ? 'notice' : f.isWarning === true ? 'warning' : 'error'} file=${property(f.file)},line=${f.line},col=${f.column},title=${f.code}::${escape(printableLine(f.message))}\n`
}

interface Options {
  readonly output: Form
  readonly weakCage: 'allow' | 'refuse'
}

/** Check for a cage only if there is a fleet. */
async function lintedFleets(
  paths: readonly string[],
  {
    weakCage,
    validator,
    io,
  }: { readonly weakCage: Options['weakCage']; readonly validator: Validator; readonly io: Io },
): Promise<readonly FleetResult[]> {
  const { fleetsIn, lintFleet } = await import('#forecast/lint/fleets.ts')
  const roots = fleetsIn(paths, io.cwd)
  if (roots.length === 0) return []
  const [{ findCage }, { processRenderer }] = await Promise.all([
    import('#sync/render/cage.ts'),
    import('#sync/render/renderer.ts'),
  ])
  const cage = await findCage(weakCage)
  if (cage.isWeak) io.err(weakCageNote)
  const renderer = processRenderer(cage)
  const results = []
  for (const root of roots)
    results.push(await withProgress(io, 'rendering the fleet', lintFleet(root, { renderer, validator, cwd: io.cwd })))
  return results
}

export function register(program: Command, io: Io): void {
  program
    .command('lint')
    .description(
      'check objects, rules and kubeconfigs in files, and the TypeScript of a fleet; exit 2 when something is wrong',
    )
    .argument(
      '[path...]',
      'files, or folders with YAML and JSON files, or a fleet with its main.ts; the current folder when left out',
    )
    .addOption(outputOption(['text', 'json', 'github']).default('text'))
    .addOption(weakCageOption())
    .action(async (named: string[], { output, weakCage }: Options) => {
      const paths = named.length === 0 ? ['.'] : named
      const [{ filesToLint }, { lintText, lintTogether }, { createValidator }] = await Promise.all([
        import('#forecast/lint/files.ts'),
        import('#forecast/lint/lint.ts'),
        import('#api/validate.ts'),
      ])
      const files = filesToLint(paths, io.cwd)
      const validator = createValidator()
      const results = files.map((f) => lintText(f, validator))
      const fleets = await lintedFleets(paths, { weakCage, validator, io })
      const findings = [
        ...results.flatMap((r) => r.findings),
        ...lintTogether(results),
        ...fleets.flatMap((f) => f.findings),
      ]
      const warnings = findings.filter((f) => f.isWarning === true).length
      const notes = findings.filter((f) => f.isNote === true).length
      const failures = findings.length - warnings - notes
      const checked = [...results, ...fleets].reduce((n, r) => n + r.checked, 0)
      const data = results.reduce((n, r) => n + r.data, 0)
      if (output === 'json') io.out(shownJson({ files: files.length, checked, findings }))
      else for (const f of findings) io.out(output === 'github' ? asGithub(f) : asText(f))
      const skipped = data === 0 ? '' : `, ${count(data, 'document')} skipped (plain data)`
      const nothing = files.length + fleets.length === 0 ? '; for rules in TypeScript, use "kubenode rules lint"' : ''
      io.err(
        `${count(files.length, 'file')}, ${count(checked, 'object')}${skipped}, ${count(failures, 'problem')}${warnings === 0 ? '' : `, ${count(warnings, 'warning')}`}${notes === 0 ? '' : `, ${count(notes, 'note')}`}${nothing}\n`,
      )
      if (failures > 0) throw new Exit(EXIT_ERROR)
    })
}
