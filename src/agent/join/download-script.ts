// Pure: shell lines that download one file with curl or wget, from a server whose authority is in a file.
import { agentErrors } from '../agent-errors.ts'
import { shellError } from './shell-error.ts'

export interface Download {
  /** A shell word. */
  readonly url: string
  /** File name as a shell word; empty: the host's authorities. */
  readonly ca: string
  readonly to: string
  /** The URL as shown in errors. */
  readonly shownUrl: string
  /** Runs when the file cannot be written, usually because the disk is full. */
  readonly unwritten: string
}

/** Curl, wget and Node.js have only the lowercase variable names in common. */
export const PROXY_OF_HOST =
  'export https_proxy="${https_proxy:-${HTTPS_PROXY:-}}" no_proxy="${no_proxy:-${NO_PROXY:-}}"'

/** Exit codes for an untrusted certificate: 51, 60 and 77 of curl, 5 of wget. For a file that cannot be written: 23 of curl, 3 of wget. */
export const downloadScript = ({ url, ca, to, shownUrl, unwritten }: Download): string =>
  [
    `c=${ca}`,
    `if command -v curl >/dev/null; then curl -fsSL --connect-timeout 20 \${c:+--cacert "$c"} -o ${to} ${url}; r=$?; case $r in 51 | 60 | 77) r=tls ;; 23) r=disk ;; esac` +
      `; elif command -v wget >/dev/null; then wget -nv --timeout=20 --tries=2 \${c:+"--ca-certificate=$c"} -O ${to} ${url}; r=$?; case $r in 5) r=tls ;; 3) r=disk ;; esac` +
      `; else ${shellError(agentErrors.KN8085({ program: 'curl and no wget' }))}; fi`,
    `case $r in 0) ;; tls) ${shellError(agentErrors.KN8083({ url: shownUrl }))} ;; disk) ${unwritten} ;; *) ${shellError(agentErrors.KN8082({ url: shownUrl }))} ;; esac`,
  ].join('; ')
