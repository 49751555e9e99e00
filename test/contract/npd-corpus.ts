// Where node-problem-detector's own files and recorded answers are on this machine, if at all: beside the repository, or where KUBENODE_NPD points.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const NPD = process.env['KUBENODE_NPD'] ?? join(import.meta.dirname, '../../../shared/npd')

export const isNpdPresent = existsSync(join(NPD, 'config'))
export const NO_NPD = 'the files of node-problem-detector are not on this machine'
export const npdPath = (...names: readonly string[]): string => join(NPD, ...names)
export const npdText = (...names: readonly string[]): string => readFileSync(npdPath(...names), 'utf8')
export const npdJson = (...names: readonly string[]): unknown => JSON.parse(npdText(...names))
