// Which pod security level a namespace asks for, read from its labels: what is enforced, warned about and audited.
import { invalid, type FieldError } from '../../schema/field-error.ts'

export type Level = 'privileged' | 'baseline' | 'restricted'

export interface LevelVersion {
  readonly level: Level
  /** `latest` or `v1.30`: the rules of that release. */
  readonly version: string
}

export interface PodSecurityPolicy {
  readonly enforce: LevelVersion
  readonly audit: LevelVersion
  readonly warn: LevelVersion
  /** Problems of the labels. An unreadable level is enforced as the strictest one, and neither warned about nor audited. */
  readonly problems: readonly FieldError[]
}

const PREFIX = 'pod-security.kubernetes.io/'
const LEVELS: readonly string[] = ['privileged', 'baseline', 'restricted'] satisfies readonly Level[]
const VERSION = /^v1\.(0|[1-9]\d*)$/
const NEWEST_MINOR = 36

const ANYTHING: LevelVersion = { level: 'privileged', version: 'latest' }
const NO_POLICY: PodSecurityPolicy = { enforce: ANYTHING, audit: ANYTHING, warn: ANYTHING, problems: [] }

type Labels = Readonly<Record<string, string>> | undefined

export function policyOf(labels: Labels): PodSecurityPolicy {
  if (labels === undefined || !Object.keys(labels).some((key) => key.startsWith(PREFIX))) return NO_POLICY
  const problems: FieldError[] = []
  const read = (mode: string, isRight: (value: string) => boolean, rule: string): string | undefined => {
    const value = Object.hasOwn(labels, `${PREFIX}${mode}`) ? labels[`${PREFIX}${mode}`] : undefined
    if (value === undefined || isRight(value)) return value
    problems.push(invalid(`metadata.labels[${PREFIX}${mode}]`, value, rule))
    return UNREADABLE
  }
  const ofMode = (mode: string, unreadable: Level) => {
    const level = read(mode, (v) => LEVELS.includes(v), 'must be one of privileged, baseline, restricted')
    const version = read(`${mode}-version`, (v) => v === 'latest' || VERSION.test(v), 'must be "latest" or "v1.x"')
    return {
      said: level,
      saidVersion: version,
      is: {
        level: level === UNREADABLE ? unreadable : ((level as Level | undefined) ?? 'privileged'),
        version: version === UNREADABLE ? 'latest' : (version ?? 'latest'),
      },
    }
  }
  const enforce = ofMode('enforce', 'restricted')
  const audit = ofMode('audit', 'privileged')
  const warn = ofMode('warn', 'privileged')
  // a workload whose pods would be refused gets its warning when the workload is written
  const followsEnforce = warn.said === undefined && enforce.said !== undefined && enforce.said !== UNREADABLE
  const warned: LevelVersion =
    followsEnforce && isStricter(enforce.is.level, warn.is.level)
      ? { level: enforce.is.level, version: warn.saidVersion === undefined ? enforce.is.version : warn.is.version }
      : warn.is
  return { enforce: enforce.is, audit: audit.is, warn: warned, problems }
}

const UNREADABLE = 'unreadable'

export const isStricter = (a: Level, b: Level): boolean => LEVELS.indexOf(a) > LEVELS.indexOf(b)

export const isSame = (a: LevelVersion, b: LevelVersion): boolean => a.level === b.level && a.version === b.version

/** The minor release whose rules apply; later releases get the newest known rules. */
export const minorOf = ({ version }: LevelVersion): number =>
  Math.min(Number(VERSION.exec(version)?.[1] ?? NEWEST_MINOR), NEWEST_MINOR)

export const textOf = ({ level, version }: LevelVersion): string => `${level}:${version}`
