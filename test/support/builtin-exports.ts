// What the builtins of a fleet export in the Node of this release. A new name is read, and added here when it computes only.
const NAMES: Readonly<Record<string, string>> = {
  assert:
    'Assert AssertionError deepEqual deepStrictEqual default doesNotMatch doesNotReject doesNotThrow equal fail ifError match notDeepEqual notDeepStrictEqual notEqual notStrictEqual ok partialDeepStrictEqual rejects strict strictEqual throws',
  'assert/strict':
    'Assert AssertionError deepEqual deepStrictEqual default doesNotMatch doesNotReject doesNotThrow equal fail ifError match notDeepEqual notDeepStrictEqual notEqual notStrictEqual ok partialDeepStrictEqual rejects strict strictEqual throws',
  buffer:
    'Blob Buffer File INSPECT_MAX_BYTES atob btoa constants default isAscii isUtf8 kMaxLength kStringMaxLength resolveObjectURL transcode',
  events:
    'EventEmitter EventEmitterAsyncResource addAbortListener captureRejectionSymbol captureRejections default defaultMaxListeners errorMonitor getEventListeners getMaxListeners init listenerCount on once setMaxListeners usingDomains',
  path: '_makeLong basename default delimiter dirname extname format isAbsolute join matchesGlob normalize parse posix relative resolve sep toNamespacedPath win32',
  'path/posix':
    '_makeLong basename default delimiter dirname extname format isAbsolute join matchesGlob normalize parse posix relative resolve sep toNamespacedPath win32',
  querystring: 'decode default encode escape parse stringify unescape unescapeBuffer',
  string_decoder: 'StringDecoder default',
  url: 'URL URLPattern URLSearchParams Url default domainToASCII domainToUnicode fileURLToPath fileURLToPathBuffer format parse pathToFileURL resolve resolveObject urlToHttpOptions',
  util: 'MIMEParams MIMEType TextDecoder TextEncoder _errnoException _exceptionWithHostPort _extend aborted callbackify convertProcessSignalToExitCode debounce debug debuglog default deprecate diff format formatWithOptions getCallSites getSystemErrorMap getSystemErrorMessage getSystemErrorName inherits inspect isArray isDeepStrictEqual markPromiseAsHandled parseArgs parseEnv promisify setTraceSigInt stripVTControlCharacters styleText throttle toUSVString transferableAbortController transferableAbortSignal types',
}

export const BUILTIN_EXPORTS: ReadonlySet<string> = new Set(
  Object.entries(NAMES).flatMap(([module, names]) => names.split(' ').map((name) => `${module}.${name}`)),
)
