// Connections to API servers, and their answers.
import type { Advice } from './advice.ts'

export const kubernetesClient = {
  KN2001: {
    cause: 'The API server cannot be reached, or does not answer in time.',
    check: 'the address in the kubeconfig, the network, and the load of the API server',
    do: 'start it or correct the address; programs retry by themselves',
  },
  KN2003: {
    cause: 'The certificate of the API server has expired.',
    check: 'openssl s_client -connect HOST:PORT, and the clock of this machine',
    do: 'renew the certificate',
  },
  KN2004: {
    cause: 'The certificate of the API server is not signed by the authority in the kubeconfig.',
    check: 'certificate-authority-data, and who answers at the address',
    do: 'correct the authority or the address; another server may answer there',
  },
  KN2005: {
    cause: 'A response is larger than the client reads.',
    check: 'the request in the message',
    do: 'request smaller pages',
  },
  KN2008: {
    cause: 'The certificate of the API server is for another name.',
    check: 'the names in the certificate',
    do: 'use one of them as address, or set tls-server-name of the cluster in the kubeconfig',
  },
  KN2010: {
    cause: 'The address or proxy of the cluster is not one that the client connects to.',
    check: 'server and proxy-url of the cluster in the kubeconfig',
    do: 'use https://HOST:PORT with nothing but a path; plain http only to a proxy on this host',
  },
  KN2014: {
    cause: 'A name or path in a request cannot be one.',
    check: 'the name in the message: empty, slashes or white space',
    do: 'correct the name in the command or in the object that refers to it',
  },
  KN2015: {
    cause: 'The context does not exist, is incomplete, or none is chosen.',
    check: 'kubectl config get-contexts',
    do: 'choose one with --context or kubectl config use-context',
  },
  KN2017: {
    cause: 'The process is not in a pod with a service account that it can read.',
    check: 'automountServiceAccountToken, the projected volume, and the user of the process',
    do: 'run it in a pod with the token and kube-root-ca.crt mounted, or give a kubeconfig',
  },
  KN2019: {
    cause: 'The user of the kubeconfig logs in with a method that is not supported.',
    check: 'the fields of the user in the message',
    do: 'use a token or a client certificate',
  },
  KN2025: {
    cause: 'The credential plugin of the kubeconfig failed.',
    check: 'its error: run the plugin by hand',
    do: 'log in again, or repair the plugin',
  },
  KN2030: {
    cause: 'A stream or list from the API server broke off or was stale.',
    check: 'the log of the API server if it repeats',
    do: 'nothing: it is opened and read again automatically',
  },
  KN2100: {
    cause: 'The kubeconfig in a Secret is no kubeconfig.',
    check: 'the problems listed, with line and column',
    do: 'store one YAML document of kind Config with the fields listed',
  },
  KN2101: {
    cause: 'A kubeconfig in a Secret would run a program.',
    check: 'users[].user.exec',
    do: 'remove exec; put a token or client certificate there',
  },
  KN2102: {
    cause: 'A kubeconfig in a Secret uses an auth provider.',
    check: 'users[].user.auth-provider',
    do: 'remove auth-provider; put a token or client certificate there',
  },
  KN2103: {
    cause: 'A kubeconfig in a Secret names files of a machine.',
    check: 'the fields listed, such as certificate-authority',
    do: 'put the contents there: certificate-authority-data, client-key-data',
  },
  KN2104: {
    cause: 'A kubeconfig in a Secret turns off the check of the server.',
    check: 'insecure-skip-tls-verify',
    do: 'remove it and add certificate-authority-data',
  },
  KN2105: {
    cause: 'A kubeconfig in a Secret names a proxy, which could read or redirect requests.',
    check: 'proxy-url',
    do: 'remove it and connect directly',
  },
  KN2106: {
    cause: 'A kubeconfig in a Secret has a password.',
    check: 'username and password of the user',
    do: 'replace them by a token or client certificate',
  },
  KN2107: {
    cause: 'The server in a kubeconfig of a Secret is not a plain https address.',
    check: 'server of the cluster',
    do: 'write https://HOST:PORT without user, query and fragment',
  },
  KN2108: {
    cause: 'The server in a kubeconfig of a Secret is no address that an API server has.',
    check: 'server and tls-server-name',
    do: 'use the host name or address of the API server',
  },
  KN2109: {
    cause: 'A kubeconfig in a Secret has a field that is not known.',
    check: 'the field and the suggestion in the message',
    do: 'remove or rename the field',
  },
  KN2110: {
    cause: 'The context of a kubeconfig in a Secret is incomplete.',
    check: 'contexts, clusters and users',
    do: 'name a context whose cluster and user are in the file',
  },
  KN2111: {
    cause: 'Certificate and key in a kubeconfig of a Secret do not decode, or one is missing.',
    check: 'client-certificate-data and client-key-data',
    do: 'set both, each as base64 of PEM',
  },
  KN2112: {
    cause: 'A token or user name in a kubeconfig of a Secret is not plain text.',
    check: 'token and as',
    do: 'write it on one line without blanks',
  },
  KN2400: {
    cause: 'The API server does not accept the form of a request (HTTP 400, 405, 406, 415).',
    check: 'its reason in the message',
    do: 'correct the request: the arguments of the command, or the object',
  },
  KN2401: {
    cause: 'The API server does not accept the credentials.',
    check: 'kubectl auth whoami with the same kubeconfig',
    do: 'renew the token or client certificate',
  },
  KN2403: {
    cause: 'The identity has no permission for this.',
    check: 'kubectl auth can-i VERB RESOURCE --as IDENTITY',
    do: 'ask for the permission that the message names',
  },
  KN2404: {
    cause: 'The object, or its kind, does not exist in this cluster.',
    check: 'kubectl api-resources and kubectl get',
    do: 'check the name, the namespace and the cluster',
  },
  KN2409: {
    cause: 'The object changed meanwhile, or exists already.',
    check: 'kubectl get with -o yaml: resourceVersion and uid',
    do: 'read it again and decide with what it is now',
  },
  KN2410: {
    cause: 'A list or watch was too old for the API server.',
    check: 'nothing, unless it repeats within seconds',
    do: 'list again; programs do it by themselves',
  },
  KN2413: {
    cause: 'The request is larger than the API server accepts.',
    check: 'the size of the object',
    do: 'make it smaller',
  },
  KN2422: {
    cause: 'The API server found mistakes in the object.',
    check: 'the fields in the message',
    do: 'correct these fields',
  },
  KN2500: {
    cause: 'The API server cannot answer now: it is starting, overloaded or has an error.',
    check: 'its log, and /readyz',
    do: 'nothing: retried automatically; repair the API server if it continues for minutes',
  },
  KN2507: {
    cause: 'The disk of the API server is full.',
    check: 'df on its machine',
    do: 'free space there; writes resume by themselves',
  },
} as const satisfies Advice
