// How the server reads requests for certificates: by the one reader of all programs.
export { readSigningRequest, requestParts } from '#lib/x509/read-request.ts'
