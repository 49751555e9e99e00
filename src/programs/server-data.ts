// Backs up, restores and checks the data folder of an embedded server, even while it runs.
import { join } from 'node:path'
import { backupData, checkData, type DataReport, OBJECTS, restoreData } from '#apiserver/apiserver.ts'
import { systemClock } from '#lib/system-clock.ts'
import { keepFilesPrivate } from '#lib/private-folder.ts'
import { printable, shownLine } from '#lib/printable.ts'
import { Exit, EXIT_DIFFERENT } from '#lib/terminal/exit.ts'
import type { Io } from '#lib/terminal/io.ts'
import { requireTrustedFolder } from '#lib/trusted-folder.ts'

export function backup(io: Io, data: string, out: string): void {
  keepFilesPrivate()
  const report = backupData(data, out)
  io.out(`${out}\n`)
  io.err(`backed up ${report.objects} objects at revision ${report.revision}\n`)
}

export function restore(io: Io, from: string, data: string): void {
  keepFilesPrivate()
  requireTrustedFolder(data, { isClosedByCaller: true })
  const report = restoreData(from, data, { now: systemClock.now() })
  io.out(`${data}\n`)
  io.err(`restored ${report.objects} objects; revisions continue from ${report.revision}, so clients list again\n`)
}

/** With `from`: checks this backup instead of the folder. */
export function check(io: Io, data: string, from: string | undefined): void {
  const file = from ?? join(data, OBJECTS)
  print(io, file, checkData(file), from === undefined ? REPAIR : ANOTHER)
}

const REPAIR = 'restore a backup into an empty folder with kubenode apiserver restore'
const ANOTHER =
  'do not restore it: check an earlier one, or write a new one with kubenode apiserver backup while the server still runs'

function print(io: Io, file: string, report: DataReport, next: string): void {
  const { format, revision, objects, counts, problems } = report
  io.out(`format    ${format}\nrevision  ${revision}\nobjects   ${objects}\n`)
  for (const [resource, n] of counts) io.out(`  ${String(n).padStart(7)}  ${printable(resource.replace(/^\//, ''))}\n`)
  if (problems.length === 0) {
    io.err(`${file} is sound\n`)
    return
  }
  for (const problem of problems) io.err(shownLine(problem))
  io.err(`${file} is damaged; ${next}\n`)
  throw new Exit(EXIT_DIFFERENT)
}
