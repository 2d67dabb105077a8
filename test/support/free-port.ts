export { findFreePort } from '../../demo/free-port.ts';
