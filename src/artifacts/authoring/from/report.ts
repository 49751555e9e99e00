// The report about a new component: what it installs, how it runs, what was left out, and the next command.
import type { Io } from '#lib/terminal/io.ts'
import { printableLine } from '#lib/printable.ts'
import type { Made } from './make-component.ts'
import type { Recipe } from './recipes.ts'
import type { Source } from './source.ts'

/** Packages contain hundreds of files that no node needs. */
const MAX_LEFT_SHOWN = 20

export interface MadeReport {
  readonly source: Source
  readonly made: Made
  readonly recipe: Recipe | undefined
  readonly isDryRun: boolean
}

export function report(io: Io, made: MadeReport): void {
  for (const line of reportLines(made)) io.out(`${printableLine(line)}\n`)
}

const NO_SERVICE =
  '  service   none: nothing starts these programs; to run one, add --exec "PROGRAM ARGUMENTS" or --file FILE=/etc/systemd/system/NAME.service'

function reportLines({ source, made, recipe, isDryRun }: MadeReport): readonly string[] {
  const { spec } = made.statement
  const { files = [], service, hooks } = spec
  const { programs, left } = made.choice
  return [
    `${spec.component} ${spec.version} for linux/${made.arch}, from ${source.name} (sha256 ${source.sha256})`,
    ...programs.map(({ to, file }) => `  installs  ${to} (${file.size} bytes)`),
    ...files.map(({ path, format }) => `  file      ${path} (${format})`),
    ...(service === undefined
      ? // Well-known programs that nothing has to start.
        recipe === undefined
        ? [NO_SERVICE]
        : []
      : [
          `  service   ${service.unit ?? [service.exec, ...(service.args ?? [])].join(' ')}: restart ${service.restart}, kill mode ${service.killMode ?? 'Group'}`,
        ]),
    ...(hooks?.preInstall === undefined ? [] : [`  before    ${hooks.preInstall.command.join(' ')}`]),
    ...(spec.probes ?? []).map((p) => `  probe     ${p.name}`),
    `  switch    ${effectOf(spec.disruption ?? 'Drain', spec.drainOn)}`,
    ...(spec.skew === undefined
      ? []
      : [
          `  skew      at most ${spec.skew.maxAheadOfApiServer ?? 0} minor versions newer and ${spec.skew.maxBehindApiServer ?? 3} older than the API server`,
        ]),
    ...(spec.requires ?? []).map((r) => `  requires  ${r.component} ${r.range}`),
    ...(source.facts.depends ?? []).map((d) => `  on hosts  ${d}`),
    ...(recipe?.notes ?? []).map((n) => `  note      ${n}`),
    ...(left.length === 0 ? [] : ['left out:']),
    ...[...Map.groupBy(left, ({ why }) => why)].flatMap(([why, of]) => [
      `  because ${why}:`,
      ...of.slice(0, MAX_LEFT_SHOWN).map(({ what }) => `    ${what}`),
      ...(of.length > MAX_LEFT_SHOWN ? [`    and ${of.length - MAX_LEFT_SHOWN} more`] : []),
    ]),
    `${isDryRun ? 'would write' : 'wrote'} ${made.artifactFile} (${made.packed.size} bytes, sha256 ${made.packed.sha256})`,
    made.isSame
      ? `${made.statementFile} names this artifact already; it stays as it is${made.differing.length === 0 ? '' : `, although these options make another ${made.differing.join(', ')}`}`
      : `${isDryRun ? 'would write' : 'wrote'} ${made.statementFile}`,
  ]
}

const effectOf = (disruption: string, drainOn: string | undefined): string =>
  disruption === 'Drain' && drainOn === 'Minor'
    ? 'drains the node for another minor version, restarts for a patch'
    : ({
        None: 'disrupts nothing',
        Restart: 'restarts the service, without a drain',
        Drain: 'drains the node',
        Reboot: 'reboots the node',
      }[disruption] ?? disruption)

export function nextSteps({ made, isDryRun }: MadeReport): readonly string[] {
  if (isDryRun) return ['next: the same command without --dry-run']
  const { statementFile, artifactFile, statement } = made
  return [
    ...(made.differing.length === 0 ? [] : [`next: ${howToChange(made)}`]),
    ...(made.isSigned ? [] : [`next: kubenode artifact sign ${statementFile} --key KEY.pem`]),
    `next: put ${artifactFile} where agents find ${statement.spec.artifacts?.at(-1)?.url ?? ''} (docs/tasks/own-component.md), and commit ${statementFile}`,
  ]
}

/** A signed version may already be on hosts. */
const howToChange = ({ isSigned, statementFile }: Made): string =>
  isSigned
    ? 'make another version with --as; a signed one does not change'
    : `edit ${statementFile}, or delete it and run this command again`
