// Which options may come from the environment, under which name, and how values are parsed. The command line wins.
import { InvalidArgumentError, type Command, type Option } from 'commander'
import { KubeNodeError } from '#lib/errors.ts'
import { cliErrors } from './cli-errors.ts'
import { SHARED_OPTIONS, sharedVariable } from '#programs/run/shared-variables.ts'

/**
 * Long-running programs are configured by their environment, as in a container. Options of one-time actions (a reason, --all, --reset) never come from there: a
 * forgotten variable would repeat them.
 */
const PROGRAMS: Readonly<Record<string, { readonly prefix: string; readonly only?: readonly string[] }>> = {
  run: { prefix: 'RUN' },
  apiserver: { prefix: 'APISERVER' },
  'apiserver backup': { prefix: 'APISERVER', only: ['data'] },
  'apiserver restore': { prefix: 'APISERVER', only: ['data'] },
  'apiserver check': { prefix: 'APISERVER', only: ['data'] },
  'local up': { prefix: 'LOCAL', only: ['data', 'nodes'] },
  'local status': { prefix: 'LOCAL', only: ['data'] },
}

const TRUE = ['1', 'true', 'yes']
const FALSE = ['0', 'false', 'no']

/** A command's path is its words without the program's name: "apiserver backup". */
function variableOf(path: string, option: Option): string | undefined {
  const name = option.long?.replace(/^--(no-)?/, '')
  if (name === undefined) return undefined
  if (SHARED_OPTIONS.has(name)) return sharedVariable(name)
  const program = PROGRAMS[path]
  if (program === undefined || program.only?.includes(name) === false) return undefined
  return `KUBENODE_${program.prefix}_${name.replaceAll('-', '_').toUpperCase()}`
}

/** Lists the variables in the help, and reads them before each command line is parsed. */
export function readEnvironment(program: Command, env: Readonly<Record<string, string | undefined>>): void {
  const visit = (command: Command, path: string): void => {
    for (const option of command.options) {
      const variable = variableOf(path, option)
      // Hidden options are for KubeNode's own programs, which pass them on the command line.
      if (variable === undefined || option.hidden) continue
      // Set after registration, so that commander shows the name but leaves the parsing to this file.
      option.envVar = variable
      replaceVariable(command, option)
    }
    if (command.commands.length > 0) command.hook('preSubcommand', (_, sub) => take(sub, env))
    for (const sub of command.commands) visit(sub, path === '' ? sub.name() : `${path} ${sub.name()}`)
  }
  visit(program, '')
}

/** Otherwise commander appends the command line's values to the variable's. */
function replaceVariable(command: Command, option: Option): void {
  const { parseArg } = option
  if (parseArg === undefined) return
  const isFromVariable = () => command.getOptionValueSource(option.attributeName()) === 'env'
  option.parseArg = (text, before) => parseArg(text, isFromVariable() ? option.defaultValue : before)
}

function take(command: Command, env: Readonly<Record<string, string | undefined>>): void {
  for (const option of command.options) {
    const text = option.envVar === undefined ? undefined : env[option.envVar]
    // Shells and manifests unset a variable by making it empty.
    if (text === undefined || text === '') continue
    try {
      command.setOptionValueWithSource(option.attributeName(), valueOf(option, text), 'env')
    } catch (e) {
      if (!(e instanceof InvalidArgumentError)) throw e
      throw new KubeNodeError(cliErrors.KN1004({ variable: String(option.envVar), text, why: e.message }))
    }
  }
}

function valueOf(option: Option, text: string): unknown {
  if (option.required || option.optional)
    return option.parseArg === undefined ? text : option.parseArg(text, option.defaultValue as never)
  const word = text.toLowerCase()
  if (TRUE.includes(word)) return true
  if (FALSE.includes(word)) return false
  throw new InvalidArgumentError('not true or false')
}
